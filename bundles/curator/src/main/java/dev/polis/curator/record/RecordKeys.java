package dev.polis.curator.record;

import com.google.protobuf.MessageLite;
import com.google.protobuf.Parser;
import dev.polis.api.consensus.CuratorLocks;
import dev.polis.etcd.KeyPrefix;
import dev.polis.etcd.KeyRange;
import dev.polis.wire.cluster.OperatorList;
import dev.polis.wire.cluster.PluginReport;
import dev.polis.wire.cluster.RememberedChanges;
import dev.polis.wire.cluster.TrustedKeys;
import dev.polis.wire.cluster.WantedPlugins;
import dev.polis.wire.common.ClusterConfiguration;
import dev.polis.wire.curator.stored.InitialOwner;
import dev.polis.wire.curator.stored.Node;
import dev.polis.wire.curator.stored.RegisterTicket;
import java.util.HexFormat;
import java.util.Map;
import java.util.Optional;

/**
 * Names the etcd keys of the curator's records, within the curator's namespace. The layout is part
 * of the wire format.
 */
public final class RecordKeys {

  /** The prefix of the nodes' records, by id. */
  public static final KeyPrefix NODES = KeyPrefix.of("/nodes/");

  /** The prefix of the ids of nodes, by the hexadecimal join key. */
  static final KeyPrefix JOIN_KEYS = KeyPrefix.of("/join_keys/");

  public static final String CLUSTER_CONFIGURATION = "/cluster/configuration";
  public static final String INITIAL_OWNER = "/global/initial_owner";

  /** The key of the cluster's operators. */
  public static final String OPERATORS = "/global/operators";

  static final String REGISTER_TICKET = "/global/register_ticket";

  /** The key of the trusted keys for signatures on plugins. */
  public static final String TRUSTED_KEYS = "/plugins/trusted_keys";

  /** The key of the wanted plugins. */
  static final String WANTED_PLUGINS = "/plugins/wanted";

  /** The prefix of the nodes' reports about their plugins, by the node's id. */
  static final KeyPrefix PLUGIN_REPORTS = KeyPrefix.of("/plugins/reports/");

  /** The prefix of all these keys of plugins. */
  static final KeyPrefix PLUGINS = KeyPrefix.of("/plugins/");

  /** The prefix of the remembered changes, by the digest of the caller. */
  static final KeyPrefix CHANGES = KeyPrefix.of("/global/changes/");

  /** The prefix of the leader's lock. */
  public static final KeyPrefix LEADER = CuratorLocks.PREFIX;

  /** The prefix of the cluster's certificates. */
  static final String PKI = "/cluster-pki/";

  /** The range of all records in memory, with few other keys: the join keys and the lock. */
  static final KeyRange RECORDS = KeyRange.between("/cluster/", behind(PLUGINS.text()));

  private static final Map<String, Parser<? extends MessageLite>> SINGLE =
      Map.of(
          CLUSTER_CONFIGURATION, ClusterConfiguration.parser(),
          INITIAL_OWNER, InitialOwner.parser(),
          OPERATORS, OperatorList.parser(),
          REGISTER_TICKET, RegisterTicket.parser(),
          TRUSTED_KEYS, TrustedKeys.parser(),
          WANTED_PLUGINS, WantedPlugins.parser());

  private RecordKeys() {}

  /** Returns the first text after all that begin with a prefix with a slash at its end. */
  private static String behind(String prefix) {
    return prefix.substring(0, prefix.length() - 1) + (char) ('/' + 1);
  }

  /** Returns the parser of the record of a key; empty if memory does not keep that record. */
  static Optional<Parser<? extends MessageLite>> parser(String key) {
    if (NODES.extractId(key).isPresent()) {
      return Optional.of(Node.parser());
    }
    if (CHANGES.extractId(key).isPresent()) {
      return Optional.of(RememberedChanges.parser());
    }
    return PLUGIN_REPORTS.extractId(key).isPresent()
        ? Optional.of(PluginReport.parser())
        : Optional.ofNullable(SINGLE.get(key));
  }

  public static String node(String id) {
    return NODES.key(id);
  }

  public static String pluginReport(String node) {
    return PLUGIN_REPORTS.key(node);
  }

  public static String joinKey(byte[] raw) {
    return JOIN_KEYS.key(HexFormat.of().formatHex(raw));
  }
}
