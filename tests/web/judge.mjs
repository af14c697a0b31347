// Checks of every view.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";

/** Checks that a view has no serious finding of axe, console output, external request, executed markup or horizontal overflow. */
export const judging = (axe) => async (page, origin, name) => {
  // The page's policy forbids the script of axe, so this test bypasses the policy.
  await page.run(readFileSync(axe, "utf8"));
  const found = await page.run(async () => (await window.axe.run(document, { resultTypes: ["violations"] })).violations
    .filter((it) => ["serious", "critical"].includes(it.impact))
    .map((it) => `${it.id}: ${it.help}: ${it.nodes.slice(0, 3).map((node) => node.html).join(" | ")}`));
  assert.deepEqual(found, [], `${name}: axe`);
  assert.deepEqual(page.faults, [], `${name}: console`);
  const others = page.asked.filter((url) => url !== origin && !url.startsWith(`${origin}/`) && !/^(about|data|blob):/.test(url));
  assert.deepEqual(others, [], `${name}: other origins`);
  assert.equal(await page.run(() => window.hit), undefined, `${name}: something hostile ran`);
  const wide = await page.run(() => document.documentElement.scrollWidth - innerWidth);
  assert.ok(wide <= 0, `${name}: ${wide} pixels wider than the window`);
};
