// Server in front of a RIC: answers requests that a test wants to override, and forwards all others. With WEB the
// page's files come from that folder, so that page development needs no build.
import { createServer, request } from "node:http";
import { readFileSync } from "node:fs";
import { join } from "node:path";

const FORMS = { js: "text/javascript", css: "text/css", svg: "image/svg+xml", html: "text/html" };

/**
 * @param {string} upstream address of the RIC
 * @param {(path: string, response: import("node:http").ServerResponse, request: import("node:http").IncomingMessage) => boolean} answer
 */
export async function front(upstream, answer = () => false) {
  const folder = process.env.WEB;
  const server = createServer((asked, response) => {
    const path = asked.url.split("?")[0];
    if (answer(path, response, asked)) return;
    const headers = { ...asked.headers, host: new URL(upstream).host };
    delete headers.origin;
    const forwarded = request(upstream + asked.url, { method: asked.method, headers }, (got) => {
      const file = folder && (path === "/" ? "index.html" : path.startsWith("/web/") && path.slice(5));
      if (!file) {
        response.writeHead(got.statusCode, got.headers);
        got.pipe(response);
        return;
      }
      got.resume();
      const text = readFileSync(join(folder, file));
      response.writeHead(200, { ...got.headers, "content-length": text.length, "content-type": FORMS[file.split(".").pop()] });
      response.end(text);
    });
    forwarded.on("error", () => response.destroy());
    response.on("close", () => forwarded.destroy());
    asked.pipe(forwarded);
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { url: `http://127.0.0.1:${server.address().port}`, close: () => { server.closeAllConnections?.(); server.close(); } };
}
