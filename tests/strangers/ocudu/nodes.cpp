// SPDX-License-Identifier: Apache-2.0
// The three E2 agents of OCUDU's library (lib/e2: CU-CP, CU-UP, DU) with metrics of our choice, for ocudu.sh.
// OCUDU's own gNB in test mode has no bearers and no core network; here each measurement has a value that
// ocudu.py computes too. Orders that arrive are printed, one JSON object per line.
//
//     nodes UES PORT [REPORT_PERIOD_MS]
//
// Compile it with the headers and flags of an OCUDU build and link it with its ocudu_e2, ocudu_gateway,
// ocudu_pcap, ocudu_ran, ocudu_support, ocudulog and what these need.
#include "ocudu/cu_cp/cu_configurator.h"
#include "ocudu/cu_cp/cu_cp_metrics_notifier.h"
#include "ocudu/e2/e2_cu.h"
#include "ocudu/e2/e2_cu_cp_factory.h"
#include "ocudu/e2/e2_cu_up_factory.h"
#include "ocudu/e2/e2_du.h"
#include "ocudu/e2/e2_du_factory.h"
#include "ocudu/e2/e2_node_component_config_collector.h"
#include "ocudu/e2/e2ap_configuration_helpers.h"
#include "ocudu/e2/gateways/e2_network_client_factory.h"
#include "ocudu/f1u/cu_up/f1u_bearer.h"
#include "ocudu/pcap/dlt_pcap.h"
#include "ocudu/pdcp/pdcp_entity.h"
#include "ocudu/support/executors/inline_task_executor.h"
#include "ocudu/support/executors/task_worker.h"
#include "ocudu/support/io/io_broker_factory.h"
#include "ocudu/support/timers.h"
#include <csignal>
#include <thread>

using namespace ocudu;
using namespace std::chrono_literals;

namespace {

// UE i of the DU has gNB-CU UE F1AP ID 100 + i.
constexpr unsigned FIRST_UE = 100;
// Resource blocks of the carrier for which limits are computed. OCUDU's DU computes them before it applies a ratio.
constexpr unsigned CARRIER_PRBS = 52;

unsigned ues = 1;
std::atomic<bool> quit{false};

template <typename... Args>
void print(const char* format, Args&&... args)
{
  fmt::print(fmt::runtime(format), std::forward<Args>(args)...);
  fflush(stdout);
}

template <typename T>
async_task<T> immediately(T result)
{
  return launch_async([result](coro_context<async_task<T>>& ctx) {
    CORO_BEGIN(ctx);
    CORO_RETURN(result);
  });
}

struct ue_ids : odu::f1ap_ue_id_translator {
  std::optional<gnb_cu_ue_f1ap_id_t> get_gnb_cu_ue_f1ap_id(const du_ue_index_t& ue) const override
  {
    if (static_cast<unsigned>(ue) >= ues) {
      return std::nullopt;
    }
    return int_to_gnb_cu_ue_f1ap_id(FIRST_UE + static_cast<unsigned>(ue));
  }
  std::optional<gnb_cu_ue_f1ap_id_t> get_gnb_cu_ue_f1ap_id(const gnb_du_ue_f1ap_id_t& ue) const override
  {
    return int_to_gnb_cu_ue_f1ap_id(FIRST_UE + static_cast<unsigned>(gnb_du_ue_f1ap_id_to_uint(ue)));
  }
  gnb_du_ue_f1ap_id_t get_gnb_du_ue_f1ap_id(const du_ue_index_t& ue) override
  {
    const auto number = static_cast<unsigned>(ue);
    return number < ues ? int_to_gnb_du_ue_f1ap_id(number) : gnb_du_ue_f1ap_id_t::invalid;
  }
  gnb_du_ue_f1ap_id_t get_gnb_du_ue_f1ap_id(const gnb_cu_ue_f1ap_id_t& ue) override
  {
    const auto number = gnb_cu_ue_f1ap_id_to_uint(ue);
    return known(number) ? int_to_gnb_du_ue_f1ap_id(number - FIRST_UE) : gnb_du_ue_f1ap_id_t::invalid;
  }
  du_ue_index_t get_ue_index(const gnb_du_ue_f1ap_id_t& ue) override
  {
    return to_du_ue_index(gnb_du_ue_f1ap_id_to_uint(ue));
  }
  du_ue_index_t get_ue_index(const gnb_cu_ue_f1ap_id_t& ue) override
  {
    const auto number = gnb_cu_ue_f1ap_id_to_uint(ue);
    return known(number) ? to_du_ue_index(number - FIRST_UE) : du_ue_index_t::INVALID_DU_UE_INDEX;
  }
  static bool known(uint64_t number) { return number >= FIRST_UE && number < FIRST_UE + ues; }
};

// Prints each ratio of an order and converts it in the same way as the DU, including assertions.
void show(const char* order, const std::string& target, const std::vector<rrm_policy_ratio_group>& groups)
{
  for (const auto& group : groups) {
    const unsigned dedicated = group.dedicated_ratio.value_or(0);
    const unsigned min       = group.minimum_ratio.value_or(0);
    const unsigned max       = group.maximum_ratio.value_or(100);
    for (const auto& member : group.policy_members_list) {
      print("{{\"order\":\"{}\",\"target\":\"{}\",\"plmn\":\"{}\",\"sst\":{},\"sd\":{},\"type\":{},\"dedicated\":{},"
            "\"min\":{},\"max\":{}}}\n",
            order,
            target,
            member.plmn_id.to_string(),
            member.s_nssai.sst.value(),
            member.s_nssai.sd.value(),
            static_cast<int>(group.resource_type),
            dedicated,
            min,
            max);
    }
    rrm_policy_ratio_rb_limits limits(
        CARRIER_PRBS * dedicated / 100, CARRIER_PRBS * min / 100, CARRIER_PRBS * max / 100);
    (void)limits;
  }
}

struct du_orders : odu::du_configurator {
  async_task<odu::du_mac_sched_control_config_response>
  configure_ue_mac_scheduler(const odu::du_mac_sched_control_config& order) override
  {
    show("rc-quota", fmt::format("{}", gnb_du_ue_f1ap_id_to_uint(order.ue_id)), order.rrm_policy_ratio_list);
    return immediately(odu::du_mac_sched_control_config_response{true, true, true});
  }
  odu::du_param_config_response handle_sync_operator_config(const odu::du_param_config_request&) override
  {
    return {true};
  }
  async_task<odu::du_param_config_response> handle_operator_config(const odu::du_param_config_request& order,
                                                                   task_executor&) override
  {
    for (const auto& cell : order.cells) {
      show("ccc", cell.nr_cgi ? fmt::format("{:x}", cell.nr_cgi->nci.value()) : "all", cell.rrm_policy_ratio_list);
    }
    return immediately(odu::du_param_config_response{true});
  }
  void handle_ntn_param_update(const odu::du_ntn_param_update_request&) override {}
};

struct cu_orders : cu_configurator {
  cu_cp_ue_index_t
  get_ue_index(const ocucp::amf_ue_id_t& amf, const guami_t& guami, const gnb_cu_ue_f1ap_id_t& f1ap) const override
  {
    const auto number = gnb_cu_ue_f1ap_id_to_uint(f1ap);
    print("{{\"order\":\"ue\",\"amf_ue\":{},\"guami\":\"{}-{}-{}-{}\",\"f1ap\":{}}}\n",
          ocucp::amf_ue_id_to_uint(amf),
          guami.plmn.to_string(),
          guami.amf_region_id,
          guami.amf_set_id,
          guami.amf_pointer,
          number);
    return ue_ids::known(number) ? uint_to_ue_index(number - FIRST_UE) : cu_cp_ue_index_t::invalid;
  }
  cu_cp_du_index_t get_du_index(const cu_cp_ue_index_t&) const override { return uint_to_cu_cp_du_index(1); }
  cu_cp_du_index_t get_du_index(const nr_cell_global_id_t&) const override { return uint_to_cu_cp_du_index(1); }
  pci_t            get_pci(const nr_cell_global_id_t&) const override { return pci_t(1); }
  async_task<ocucp::cu_cp_intra_cu_handover_response>
  trigger_handover(const cu_cp_du_index_t&, const ocucp::cu_cp_intra_cu_handover_request& order) override
  {
    print("{{\"order\":\"handover\",\"ue\":{},\"nci\":\"{:x}\"}}\n",
          static_cast<unsigned>(order.source_ue_index),
          order.cgi.nci.value());
    ocucp::cu_cp_intra_cu_handover_response done;
    done.success = true;
    return immediately(done);
  }
};

struct du_metrics : e2_du_metrics_interface {
  std::unique_ptr<e2_du_metrics_notifier> to;
  void connect_e2_du_meas_provider(std::unique_ptr<e2_du_metrics_notifier> notifier) override
  {
    to = std::move(notifier);
  }
  void report(unsigned round, unsigned ms)
  {
    scheduler_cell_metrics cell;
    cell.nof_prbs            = 273;
    cell.nof_slots           = 100;
    cell.nof_dl_slots        = 70;
    cell.nof_ul_slots        = 30;
    cell.nof_prach_preambles = 7;
    for (unsigned i = 0; i < ues; i++) {
      scheduler_ue_metrics ue{};
      ue.ue_index            = to_du_ue_index(i);
      ue.rnti                = to_rnti(0x4601 + i);
      ue.tot_pdsch_prbs_used = 70 * (1 + i % 4);
      ue.tot_pusch_prbs_used = 30 * (1 + i % 3);
      ue.cqi_stats.update(7 + i % 8);
      ue.pusch_snr_db     = 20;
      ue.avg_crc_delay_ms = 3.0f + 0.5f * (i % 4);
      cell.ue_metrics.push_back(ue);
    }
    to->report_metrics(cell);
    for (unsigned i = 0; i < ues; i++) {
      to->report_metrics(bearer(i, round, ms));
    }
  }
  static rlc_metrics bearer(unsigned i, unsigned round, unsigned ms)
  {
    // Each step of the UE's number adds 1 Mbit/s down and 200 kbit/s up.
    const uint64_t down = 125000ull * (i + 1) * ms / 1000;
    const uint64_t up   = 25000ull * (i + 1) * ms / 1000;
    rlc_metrics    rlc{};
    rlc.ue_index                               = to_du_ue_index(i);
    rlc.rb_id                                  = rb_id_t(drb_id_t::drb1);
    rlc.metrics_period                         = timer_duration(ms);
    rlc.counter                                = round;
    rlc.tx.tx_high.num_sdus                    = 1000;
    rlc.tx.tx_high.num_sdu_bytes               = down;
    rlc.tx.tx_high.num_dropped_sdus            = 10 * (i % 5);
    rlc.tx.tx_low.num_pdu_bytes_no_segmentation = down;
    rlc.tx.tx_low.num_of_pulled_sdus           = 1000;
    rlc.tx.tx_low.sum_sdu_latency_us           = 1000 * 100 * (i + 1);
    rlc.tx.tx_low.mode_specific                = rlc_am_tx_metrics_lower{};
    rlc.rx.num_sdus                            = 500;
    rlc.rx.num_sdu_bytes                       = up;
    rlc.rx.num_pdu_bytes                       = up;
    rlc.rx.sdu_latency_us                      = 500 * 200 * (i + 1);
    return rlc;
  }
};

struct cu_metrics : e2_cu_metrics_interface {
  std::unique_ptr<e2_cu_metrics_notifier> to;
  void connect_e2_cu_meas_provider(std::unique_ptr<e2_cu_metrics_notifier> notifier) override
  {
    to = std::move(notifier);
  }
  void report_control_plane()
  {
    cu_cp_metrics_report          report;
    cu_cp_metrics_report::du_info du{};
    du.id                                     = int_to_gnb_du_id(0);
    du.rrc_metrics.mean_nof_rrc_connections   = ues;
    du.rrc_metrics.max_nof_rrc_connections    = ues + 1;
    for (unsigned i = 0; i < 5; i++) {
      du.rrc_metrics.attempted_rrc_connection_establishments.increase(establishment_cause_t::mo_data);
    }
    for (unsigned i = 0; i < 4; i++) {
      du.rrc_metrics.successful_rrc_connection_establishments.increase(establishment_cause_t::mo_data);
    }
    du.rrc_metrics.attempted_rrc_connection_reestablishments                  = 3;
    du.rrc_metrics.successful_rrc_connection_reestablishments_with_ue_context = 2;
    report.dus.push_back(du);
    to->report_metrics(report);
  }
  void report_user_plane(unsigned ms)
  {
    for (unsigned i = 0; i < ues; i++) {
      pdcp_metrics_container pdcp{};
      pdcp.ue_index               = i;
      pdcp.rb_id                  = rb_id_t(drb_id_t::drb1);
      pdcp.metrics_period         = timer_duration(ms);
      pdcp.rx.num_data_pdus       = 100;
      pdcp.rx.num_sdus            = 90;
      pdcp.rx.reordering_counter  = 10;
      pdcp.rx.reordering_delay_us = 10 * 2500;
      to->report_metrics(pdcp);
    }
  }
};

struct environment {
  std::unique_ptr<io_broker>                         broker = create_io_broker(io_broker_type::epoll);
  task_worker                                        worker{"e2", 4096};
  task_worker_executor                               executor{worker};
  timer_manager                                      clock{1024};
  timer_factory                                      timers{clock, executor};
  null_dlt_pcap                                      pcap;
  std::vector<std::unique_ptr<e2_connection_client>> gateways;
  std::vector<std::unique_ptr<e2_agent>>             agents;

  e2_connection_client& gateway(int ppid, int port)
  {
    sctp_network_connector_config to;
    to.dest_name         = "NearRT-RIC";
    to.if_name           = "E2";
    to.connect_addresses = {"127.0.0.1"};
    to.connect_port      = port;
    to.bind_addresses    = {"127.0.0.1"};
    to.bind_port         = 0;
    to.ppid              = ppid;
    gateways.push_back(create_e2_gateway_client(
        e2_sctp_gateway_config{to, *broker, executor, pcap, ocudulog::fetch_basic_logger("SCTP-GW")}));
    return *gateways.back();
  }
  std::unique_ptr<e2_node_component_config_collector> component(e2_node_component_interface_type type,
                                                                e2_node_component_id             id)
  {
    const std::array<uint8_t, 4> bytes{1, 2, 3, 4};
    auto                         collector = std::make_unique<e2_node_component_config_collector>(executor, 1);
    auto                         copy = [&] { return byte_buffer::create(bytes.begin(), bytes.end()).value(); };
    collector->deliver(type, copy(), copy(), id);
    return collector;
  }
};

} // namespace

int main(int argc, char** argv)
{
  if (argc < 3) {
    fprintf(stderr, "usage: nodes UES PORT [REPORT_PERIOD_MS]\n");
    return 2;
  }
  ues               = static_cast<unsigned>(atoi(argv[1]));
  const int      port = atoi(argv[2]);
  const unsigned ms   = argc > 3 ? static_cast<unsigned>(atoi(argv[3])) : 1000;
  signal(SIGINT, [](int) { quit = true; });
  signal(SIGTERM, [](int) { quit = true; });
  for (const char* name : {"ALL", "E2", "E2-CU-CP", "E2-CU-UP", "E2-DU", "E2-SUBSCRIBER", "E2SM-KPM", "E2SM-RC", "E2SM-CCC",
                           "IO-EPOLL", "SCTP-GW"}) {
    ocudulog::fetch_basic_logger(name).set_level(ocudulog::basic_levels::warning);
  }
  ocudulog::init();

  environment here;
  ue_ids      ids;
  du_orders   du;
  cu_orders   cu;
  du_metrics  of_du;
  cu_metrics  of_cu_cp, of_cu_up;

  e2ap_configuration config = config_helpers::make_default_e2ap_config();
  config.gnb_id             = {412, 22};
  config.plmn               = "00101";
  config.e2sm_kpm_enabled = config.e2sm_rc_enabled = config.e2sm_ccc_enabled = true;
  here.agents.push_back(create_e2_cu_cp_agent(config,
                                              here.gateway(E2_CP_PPID, port),
                                              &of_cu_cp,
                                              &cu,
                                              here.timers,
                                              here.executor,
                                              here.component(e2_node_component_interface_type::ng, std::string("amf"))));
  auto cu_up         = config;
  cu_up.gnb_cu_up_id = gnb_cu_up_id_t{};
  here.agents.push_back(create_e2_cu_up_agent(cu_up,
                                              here.gateway(E2_UP_PPID, port),
                                              &of_cu_up,
                                              &cu,
                                              here.timers,
                                              here.executor,
                                              here.component(e2_node_component_interface_type::e1, gnb_cu_up_id_t{})));
  auto of_du_config      = config;
  of_du_config.gnb_du_id = int_to_gnb_du_id(0);
  here.agents.push_back(create_e2_du_agent(of_du_config,
                                           here.gateway(E2_DU_PPID, port),
                                           &of_du,
                                           &ids,
                                           &du,
                                           here.timers,
                                           here.executor,
                                           here.component(e2_node_component_interface_type::f1, int_to_gnb_du_id(0))));
  for (auto& agent : here.agents) {
    agent->start();
  }
  auto     next  = std::chrono::steady_clock::now();
  unsigned round = 0;
  for (unsigned tick = 0; !quit; tick++) {
    next += 1ms;
    std::this_thread::sleep_until(next);
    here.clock.tick();
    if (tick % ms == 0) {
      round++;
      (void)here.executor.execute([&, round] {
        of_du.report(round, ms);
        of_cu_cp.report_control_plane();
        of_cu_up.report_user_plane(ms);
      });
    }
  }
  // A regular end of the agents would need ticking timers on another thread. No resource needs to be released here.
  ocudulog::flush();
  _exit(0);
}
