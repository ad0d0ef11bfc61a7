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

  /** The lock of the leader. */
  static final KeyPrefix LEADER = KeyPrefix.of("/leader/");

  /** The cluster's certificates. */
  static final String PKI = "/cluster-pki/";

  private RecordKeys() {}

  static String node(String id) {
    return NODES.key(id);
  }

  static String joinKey(byte[] raw) {
    return JOIN_KEYS.key(HexFormat.of().formatHex(raw));
  }
}
