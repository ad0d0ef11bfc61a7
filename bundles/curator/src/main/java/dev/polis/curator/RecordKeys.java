package dev.polis.curator;

import dev.polis.etcd.KeyPrefix;
import java.util.HexFormat;

/**
 * Names the etcd keys of the curator's records, within the curator's namespace. The layout is part
 * of the wire format.
 */
final class RecordKeys {

  /** The records of the nodes, by id. */
  static final KeyPrefix NODES = KeyPrefix.of("/nodes/");

  /** Ids of nodes, by the hexadecimal join key. */
  static final KeyPrefix JOIN_KEYS = KeyPrefix.of("/join_keys/");

  static final String CLUSTER_CONFIGURATION = "/cluster/configuration";
  static final String INITIAL_OWNER = "/global/initial_owner";
  static final String REGISTER_TICKET = "/global/register_ticket";

  /** The keys whose signatures on plugins are trusted. */
  static final String TRUSTED_KEYS = "/plugins/trusted_keys";

  /** Which plugins the nodes should run. */
  static final String WANTED_PLUGINS = "/plugins/wanted";

  /** What nodes say of their plugins, by the node's id. */
  static final KeyPrefix PLUGIN_REPORTS = KeyPrefix.of("/plugins/reports/");

  /** All of the above about plugins. */
  static final KeyPrefix PLUGINS = KeyPrefix.of("/plugins/");

  /** The lock of the leader. */
  static final KeyPrefix LEADER = KeyPrefix.of("/leader/");

  /** The cluster's certificates. */
  static final String PKI = "/cluster-pki/";

  private RecordKeys() {}

  static String node(String id) {
    return NODES.key(id);
  }

  static String pluginReport(String node) {
    return PLUGIN_REPORTS.key(node);
  }

  static String joinKey(byte[] raw) {
    return JOIN_KEYS.key(HexFormat.of().formatHex(raw));
  }
}
