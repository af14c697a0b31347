"""The functions of a 5G core that an SMF needs, as one HTTP/2 server: NRF, UDM, PCF, CHF, BSF and AMF, and a client of the
SMF itself. Every NF has one address. Responses hold the least that Open5GS and free5GC read.

Needs the package h2.
"""
import json, queue, re, socket, threading, uuid

import h2.config, h2.connection, h2.events

SUPI = "imsi-001010000000001"
SERVICES = {
    "UDM": ["nudm-sdm", "nudm-uecm"],
    "PCF": ["npcf-smpolicycontrol"],
    "CHF": ["nchf-convergedcharging"],
    "AMF": ["namf-comm"],
    "BSF": ["nbsf-management"],
}
VERSIONS = {"nudm-sdm": "v2"}


def settings(dnn_configuration, decision, charge):
    """Responses of the core: DNN configuration of UDM, policy decision of PCF, and a function that grants quotas."""
    return {"dnn": dnn_configuration, "decision": decision, "charge": charge}


class Core:
    """Answers requests of the SMF; `requests` has each as (method, path, body)."""

    def __init__(self, address, port, answers, one_request=False):
        """`one_request`: close each connection after its first response. libcurl 7.88 (Open5GS) fails at the second
        request of a connection whose HTTP/2 it assumes."""
        self.one_request = one_request
        self.address, self.port, self.answers = address, port, answers
        self.requests, self.transfers = [], queue.Queue()
        self.socket = socket.socket()
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind((address, port))
        self.socket.listen(64)
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            connection, _ = self.socket.accept()
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, sock):
        start = sock.recv(24, socket.MSG_PEEK | socket.MSG_WAITALL)
        if start.startswith(b"PRI "):
            self.serve_http2(sock)
        elif start:
            self.serve_http1(sock)
        sock.close()

    def serve_http1(self, sock):
        """Serves HTTP/1.1, which one client of free5GC uses."""
        with sock.makefile("rwb") as stream:
            while request := stream.readline():
                method, path, _ = request.decode().split(" ", 2)
                headers = {}
                while line := stream.readline().strip():
                    name, value = line.decode().split(":", 1)
                    headers[name.lower()] = value.strip()
                body = stream.read(int(headers.get("content-length", 0)))
                status, answer, more = self.answer(method, path, body, headers.get("content-type", ""))
                out = b"" if answer is None else json.dumps(answer).encode()
                lines = [f"HTTP/1.1 {status} -", "content-type: application/json", f"content-length: {len(out)}"]
                lines += [f"{name}: {value}" for name, value in more]
                stream.write("\r\n".join(lines).encode() + b"\r\n\r\n" + out)
                stream.flush()

    def serve_http2(self, sock):
        connection = h2.connection.H2Connection(h2.config.H2Configuration(client_side=False, header_encoding="utf-8"))
        connection.initiate_connection()
        sock.sendall(connection.data_to_send())
        streams = {}
        while data := sock.recv(65535):
            for event in connection.receive_data(data):
                if isinstance(event, h2.events.RequestReceived):
                    streams[event.stream_id] = (dict(event.headers), bytearray())
                elif isinstance(event, h2.events.DataReceived):
                    streams[event.stream_id][1].extend(event.data)
                elif isinstance(event, h2.events.StreamEnded):
                    headers, body = streams.pop(event.stream_id)
                    status, answer, more = self.answer(headers[":method"], headers[":path"], bytes(body), headers.get("content-type", ""))
                    out = b"" if answer is None else json.dumps(answer).encode()
                    kind = [("content-type", "application/problem+json" if status >= 400 else "application/json")] if out else []
                    connection.send_headers(event.stream_id, [(":status", str(status)), *kind, *more], end_stream=not out)
                    if out:
                        connection.send_data(event.stream_id, out, end_stream=True)
                    if not self.one_request:
                        continue
                    connection.close_connection()
                    sock.sendall(connection.data_to_send())
                    # Unread data would reset the connection.
                    sock.shutdown(socket.SHUT_WR)
                    while sock.recv(65535):
                        pass
                    return
            sock.sendall(connection.data_to_send())

    @property
    def uri(self):
        return f"http://{self.address}:{self.port}"

    def profile(self, nf_type):
        services = [
            {
                "serviceInstanceId": str(uuid.uuid5(uuid.NAMESPACE_DNS, name)),
                "serviceName": name,
                "versions": [{"apiVersionInUri": VERSIONS.get(name, "v1"), "apiFullVersion": "1.0.0"}],
                "scheme": "http",
                "nfServiceStatus": "REGISTERED",
                "ipEndPoints": [{"ipv4Address": self.address, "transport": "TCP", "port": self.port}],
                "apiPrefix": self.uri,
            }
            for name in SERVICES[nf_type]
        ]
        return {
            "nfInstanceId": str(uuid.uuid5(uuid.NAMESPACE_DNS, nf_type)),
            "nfType": nf_type,
            "nfStatus": "REGISTERED",
            "ipv4Addresses": [self.address],
            "nfServices": services,
            "nfServiceList": {service["serviceInstanceId"]: service for service in services},
        }

    def answer(self, method, path, body, kind):
        """Status, JSON and further headers of a response."""
        given = None
        if body and "json" in kind and "multipart" not in kind:
            given = json.loads(body)
        self.requests.append((method, path, given))
        made = lambda name, answer: (201, answer, [("location", f"{self.uri}{path.rstrip('/')}/{name}")])
        if path.startswith("/nnrf-nfm/v1/nf-instances/"):
            if method == "PUT":
                return 201, {**given, "heartBeatTimer": 60}, [("location", self.uri + path)]
            return 204, None, []
        if path.startswith("/nnrf-nfm/v1/subscriptions"):
            return made("1", {**(given or {}), "subscriptionId": "1", "validityTime": "2099-01-01T00:00:00Z"}) if method == "POST" else (204, None, [])
        if path.startswith("/nnrf-disc/v1/nf-instances"):
            wanted = re.search(r"target-nf-type=([A-Z0-9]+)", path)[1]
            found = [self.profile(wanted)] if wanted in SERVICES else []
            return 200, {"validityPeriod": 3600, "nfInstances": found}, []
        if path.startswith("/nudm-sdm/"):
            if "sdm-subscriptions" in path:
                return made("1", {**(given or {}), "subscriptionId": "1"}) if method == "POST" else (204, None, [])
            dnn = self.answers["dnn"]
            return 200, [{"singleNssai": {"sst": 1}, "dnnConfigurations": {"internet": dnn}}], []
        if path.startswith("/nudm-uecm/"):
            return (201, given, [("location", self.uri + path)]) if method == "PUT" else (204, None, [])
        if path.startswith("/npcf-smpolicycontrol/"):
            return made("1", self.answers["decision"]) if path.endswith("/sm-policies") else (204, None, [])
        if path.startswith("/nchf-convergedcharging/"):
            if path.endswith("/release"):
                return 204, None, []
            granted = self.answers["charge"](given)
            response = {"invocationTimeStamp": "2026-01-01T00:00:00Z", "invocationSequenceNumber": 1, "multipleUnitInformation": granted}
            return made("1", response) if path.endswith("/chargingdata") else (200, response, [])
        if path.startswith("/namf-comm/"):
            self.transfers.put(body)
            return 200, {"cause": "N1_N2_TRANSFER_INITIATED"}, []
        if path.startswith("/amf/status"):
            return 204, None, []
        return 404, {"status": 404, "title": "not found", "cause": "CONTEXT_NOT_FOUND"}, []


def frames(sock):
    """Received frames of HTTP/2 without GOAWAY. free5GC sends GOAWAY before each response."""
    with sock.makefile("rb") as stream:
        while len(head := stream.read(9)) == 9:
            frame = head + stream.read(int.from_bytes(head[:3], "big"))
            if frame[3] != 7:
                yield frame


class Client:
    """Requests to the SMF, one after the other."""

    def __init__(self, address, port):
        self.address, self.port = address, port

    def request(self, method, path, content_type=None, body=b""):
        """Status, headers and body of the response."""
        with socket.create_connection((self.address, self.port), timeout=10) as sock:
            connection = h2.connection.H2Connection(h2.config.H2Configuration(header_encoding="utf-8"))
            connection.initiate_connection()
            path = path.removeprefix(f"http://{self.address}:{self.port}")
            headers = [(":method", method), (":path", path), (":scheme", "http"), (":authority", f"{self.address}:{self.port}")]
            headers += [("content-type", content_type), ("content-length", str(len(body)))] if body else []
            connection.send_headers(1, headers, end_stream=not body)
            if body:
                connection.send_data(1, body, end_stream=True)
            sock.sendall(connection.data_to_send())
            found, content = {}, bytearray()
            for frame in frames(sock):
                for event in connection.receive_data(frame):
                    if isinstance(event, h2.events.ResponseReceived):
                        found = dict(event.headers)
                    elif isinstance(event, h2.events.DataReceived):
                        content.extend(event.data)
                        connection.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
                    elif isinstance(event, (h2.events.StreamEnded, h2.events.StreamReset)):
                        return int(found.get(":status", 0)), found, bytes(content)
                sock.sendall(connection.data_to_send())
        return int(found.get(":status", 0)), found, bytes(content)

    def multipart(self, path, data, parts):
        """Sends JSON with binary parts: (content id, content type, bytes)."""
        out = b"--part\r\nContent-Type: application/json\r\n\r\n" + json.dumps(data).encode() + b"\r\n"
        for name, kind, octets in parts:
            out += f"--part\r\nContent-Type: {kind}\r\nContent-Id: {name}\r\n\r\n".encode() + octets + b"\r\n"
        return self.request("POST", path, 'multipart/related; boundary="part"', out + b"--part--\r\n")


PLMN = {"mcc": "001", "mnc": "01"}
N1 = "application/vnd.3gpp.5gnas"
N2 = "application/vnd.3gpp.ngap"


class Session:
    """A PDU session at an SMF, from the AMF's point of view."""

    def __init__(self, client, core, session_id=1, kind=3, prefix=""):
        """`kind`: 1 IPv4, 3 IPv4 and IPv6. `prefix`: before the reference in the resource's path."""
        self.client = client
        place = {"plmnId": PLMN}
        data = {
            "supi": SUPI, "pei": "imeisv-4370816125816151", "gpsi": "msisdn-0900000000", "pduSessionId": session_id,
            "dnn": "internet", "selectedDnn": "internet", "sNssai": {"sst": 1},
            "servingNfId": core.profile("AMF")["nfInstanceId"], "guami": {"plmnId": PLMN, "amfId": "020040"},
            "servingNetwork": PLMN, "requestType": "INITIAL_REQUEST", "n1SmMsg": {"contentId": "5gnas-sm"},
            "anType": "3GPP_ACCESS", "ratType": "NR", "ueTimeZone": "+00:00",
            "ueLocation": {"nrLocation": {
                "tai": {**place, "tac": "000001"}, "ncgi": {**place, "nrCellId": "000000010"},
                "ueLocationTimestamp": "2026-01-01T00:00:00.000000Z"}},
            "smContextStatusUri": f"{core.uri}/amf/status/{session_id}",
        }
        # The message is a PDU Session Establishment Request: PTI 1, full data rate, PDU session type, SSC mode 1.
        request = bytes([0x2E, session_id, 1, 0xC1, 0xFF, 0xFF, 0x90 | kind, 0xA1])
        status, headers, body = client.multipart("/nsmf-pdusession/v1/sm-contexts", data, [("5gnas-sm", N1, request)])
        assert status == 201, (status, headers, body[:300])
        self.path = "/nsmf-pdusession/v1/sm-contexts/" + prefix + headers["location"].rsplit("/", 1)[1]

    def modify(self, data, n2=None):
        parts = []
        if n2:
            data = {**data, "n2SmInfo": {"contentId": "ngap-sm"}, "n2SmInfoType": n2[0]}
            parts = [("ngap-sm", N2, n2[1])]
        status, _, body = self.client.multipart(self.path + "/modify", data, parts) if parts else self.client.request(
            "POST", self.path + "/modify", "application/json", json.dumps(data).encode())
        assert status in (200, 204), (status, body[:300])

    def accepted(self, address, teid, qfi=1):
        """Reports that the base station has set up its tunnel: PDU Session Resource Setup Response Transfer (TS 38.413)."""
        octets = b"\x00\x03\xe0" + socket.inet_aton(address) + teid.to_bytes(4, "big") + bytes([0, qfi])
        self.modify({}, ("PDU_RES_SETUP_RSP", octets))

    def changed(self, qfi):
        """The base station has added a QoS flow: PDU Session Resource Modify Response Transfer, with the list of added
        flows alone."""
        bits = "0001000" + "000000" + "00" + f"0{qfi:06b}" + "00"
        self.modify({}, ("PDU_RES_MOD_RSP", int(bits, 2).to_bytes(3, "big")))

    def idle(self):
        self.modify({"upCnxState": "DEACTIVATED", "ngApCause": {"group": 0, "value": 20}})

    def activate(self):
        self.modify({"upCnxState": "ACTIVATING"})

    def release(self):
        status, _, body = self.client.request("POST", self.path + "/release", "application/json",
            json.dumps({"ngApCause": {"group": 0, "value": 0}}).encode())
        assert status in (200, 204), (status, body[:300])
