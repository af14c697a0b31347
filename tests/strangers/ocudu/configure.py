#!/usr/bin/env python3
"""Configurations for ocudu-5g.sh, printed to standard output.

    configure.py SAMPLE URI   Open5GS's sample with our network, and one subscriber added to the database
    configure.py gnb          OCUDU's gNB with a ZeroMQ radio of 10 MHz, without section `e2`
    configure.py ue NAMESPACE srsUE, whose device is in that namespace
"""
import re
import sys

KEY, OPC = "00112233445566778899AABBCCDDEEFF", "63BFA50EE6523365FF14C1F45F88737D"
IMSI, MCC, MNC = "001010123456780", "001", "01"
SAMPLES_PER_S = "11.52e6"  # 52 PRBs at 15 kHz

if sys.argv[1] == "gnb":
    print(f"""gnb_id: 411
cu_cp:
  amf: {{addr: 127.0.0.5, port: 38412, bind_addr: 127.0.0.30, supported_tracking_areas: [{{tac: 1, plmn_list: [{{plmn: "{MCC}{MNC}", tai_slice_support_list: [{{sst: 1}}]}}]}}]}}
  inactivity_timer: 7200
cu_up: {{ngu: {{socket: [{{bind_addr: 127.0.0.30}}]}}}}
ru_sdr: {{device_driver: zmq, device_args: "tx_port=tcp://127.0.0.1:2000,rx_port=tcp://127.0.0.1:2001,base_srate={SAMPLES_PER_S}", srate: 11.52, tx_gain: 0, rx_gain: 0}}
cell_cfg:
  {{dl_arfcn: 368500, band: 3, channel_bandwidth_MHz: 10, common_scs: 15, plmn: "{MCC}{MNC}", tac: 1,
   pdcch: {{common: {{ss0_index: 0, coreset0_index: 6}}, dedicated: {{ss2_type: common, dci_format_0_1_and_1_1: false}}}},
   prach: {{prach_config_index: 1, total_nof_ra_preambles: 64, nof_ssb_per_ro: 1, nof_cb_preambles_per_ssb: 64}},
   slicing: [{{sst: 1}}, {{sst: 2}}], pdsch: {{mcs_table: qam64}}, pusch: {{mcs_table: qam64}}}}
log: {{filename: gnb.log, all_level: warning}}""")
elif sys.argv[1] == "ue":
    # With [slicing], srsUE sends the requested slices in clear text, and the AMF refuses the registration.
    print(f"""[rf]
srate = {SAMPLES_PER_S}
tx_gain = 50
rx_gain = 40
nof_antennas = 1
device_name = zmq
device_args = tx_port=tcp://127.0.0.1:2001,rx_port=tcp://127.0.0.1:2000,base_srate={SAMPLES_PER_S}
[rat.eutra]
nof_carriers = 0
[rat.nr]
bands = 3
nof_carriers = 1
max_nof_prb = 52
nof_prb = 52
[log]
all_level = warning
filename = ue.log
[usim]
mode = soft
algo = milenage
opc = {OPC}
k = {KEY}
imsi = {IMSI}
imei = 353490069873319
[rrc]
release = 15
ue_category = 4
[nas]
apn = internet
apn_protocol = ipv4
[gw]
netns = {sys.argv[2]}
ip_devname = tun_srsue
ip_netmask = 255.255.255.0""")
else:
    import pymongo

    sample, uri = sys.argv[1:]
    text = open(sample).read()
    text = text.replace("mcc: 999", f"mcc: {MCC}").replace("mnc: 70", f"mnc: {MNC}")
    text = re.sub(r"(?m)^#( +no_(mme|sgwc|sgwu|pcrf|hss): true)", r"\1", text)
    text = re.sub(r"(?m)^db_uri:.*", f"db_uri: {uri}/open5gs", text)
    print(re.sub(r"(?m)^ +(- subnet|gateway): 2001:db8.*\n", "", text))
    rate, priority = {"value": 1, "unit": 3}, {"priority_level": 8, "pre_emption_capability": 1, "pre_emption_vulnerability": 1}
    both = {"downlink": rate, "uplink": rate}
    session = {"name": "internet", "type": 1, "pcc_rule": [], "ambr": both, "qos": {"index": 9, "arp": priority}}
    subscribers = pymongo.MongoClient(uri).open5gs.subscribers
    subscribers.delete_many({"imsi": IMSI})
    subscribers.insert_one({
        "schema_version": 1, "imsi": IMSI, "security": {"k": KEY, "op": None, "opc": OPC, "amf": "9001", "sqn": 1184},
        "ambr": both, "slice": [{"sst": 1, "default_indicator": True, "session": [session]}],
        "access_restriction_data": 32, "subscriber_status": 0, "network_access_mode": 0, "subscribed_rau_tau_timer": 12,
    })
