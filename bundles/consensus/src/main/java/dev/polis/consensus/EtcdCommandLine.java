package dev.polis.consensus;

import java.net.Inet6Address;
import java.net.InetAddress;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * Makes etcd's command line. It is always the same for the same member at the same address, since
 * the node adopts a running etcd only with the same command line.
 *
 * @param binary the program
 * @param name the member's name, the node id
 * @param token the token, which no other cluster on the network has
 * @param address the node's address
 * @param settings the configuration
 * @param files etcd's files
 * @param alone true if its cluster has no other member
 * @param others the other members at its invitation, each as {@code NAME=URL}; empty for the first
 *     member of a cluster
 */
record EtcdCommandLine(
    EtcdBinary binary,
    String name,
    String token,
    InetAddress address,
    ConsensusSettings settings,
    EtcdFiles files,
    boolean alone,
    List<String> others) {

  /**
   * The heartbeat of a single member, which only determines the wait before etcd elects itself at
   * each start: one to five heartbeats, instead of one to ten of 100 ms. An idle etcd takes 0.6 %
   * of a core with it, and 0.25 % with 100 ms.
   */
  private static final int ALONE_HEARTBEAT_MILLIS = 20;

  /** The shortest election timeout that etcd accepts: five heartbeats. */
  private static final int ALONE_ELECTION_MILLIS = 5 * ALONE_HEARTBEAT_MILLIS;

  /** Returns the URL for clients. */
  String clientUrl() {
    return url("https", address, settings.clientPort());
  }

  /** Returns the URL for other members. */
  String peerUrl() {
    return peerUrl(address, settings);
  }

  /** Returns the URL for other members of a member at this address. */
  static String peerUrl(InetAddress address, ConsensusSettings settings) {
    return url("https", address, settings.peerPort());
  }

  /** Returns the program and its arguments. */
  List<String> arguments() {
    List<String> line = new ArrayList<>();
    line.add(binary.path().toString());
    line.addAll(identity());
    line.addAll(addresses());
    line.addAll(encryption());
    line.addAll(housekeeping());
    return List.copyOf(line);
  }

  /**
   * Returns the arguments of a run that makes this member the only one of its cluster, from data in
   * another directory. No other member reaches this run, and it asks none.
   */
  List<String> forcedArguments(Path copy) {
    List<String> line = new ArrayList<>();
    for (String argument : arguments()) {
      if (argument.startsWith("--data-dir=")) {
        line.add("--data-dir=" + copy);
      } else if (argument.startsWith("--listen-peer-urls=")) {
        line.add("--listen-peer-urls=unix://peers.sock");
      } else if (!argument.equals(corruptCheck())) {
        line.add(argument);
      }
    }
    line.add("--force-new-cluster");
    return List.copyOf(line);
  }

  private List<String> identity() {
    List<String> members = new ArrayList<>(others);
    members.add(name + "=" + peerUrl());
    return List.of(
        "--name=" + name,
        "--data-dir=" + files.data().path(),
        "--initial-cluster=" + String.join(",", members),
        // A member with data ignores it; ConsensusDisk has checked that an empty directory is no
        // loss.
        "--initial-cluster-state=" + (others.isEmpty() ? "new" : "existing"),
        "--initial-cluster-token=" + token);
  }

  private List<String> addresses() {
    return List.of(
        "--listen-client-urls=" + clientUrl(),
        "--advertise-client-urls=" + clientUrl(),
        "--listen-peer-urls=" + peerUrl(),
        "--initial-advertise-peer-urls=" + peerUrl(),
        // With HTTP at a separate socket, gRPC's own server serves the client port. On a shared
        // port, watches get no time while a client reads much (etcd issue 15402).
        (binary.version().atLeast(EtcdVersion.SEPARATE)
                ? "--listen-client-http-urls="
                : "--listen-metrics-urls=")
            + "unix://"
            + EtcdHttp.SOCKET,
        // No client uses its JSON gateway.
        "--enable-grpc-gateway=false");
  }

  private List<String> encryption() {
    String ca = files.peerPki().ca().path().toString();
    String certificate = files.peerPki().certificate().path().toString();
    String key = files.peerPki().key().path().toString();
    List<String> flags = new ArrayList<>();
    for (String side : List.of("", "peer-")) {
      flags.add("--" + side + "trusted-ca-file=" + ca);
      flags.add("--" + side + "cert-file=" + certificate);
      flags.add("--" + side + "key-file=" + key);
      flags.add("--" + side + "client-cert-auth=true");
    }
    // Users have certificates of the same CA; only members' certificates have this name.
    flags.add("--peer-cert-allowed-hostname=" + ConsensusPki.MEMBER);
    if (binary.version().atLeast(EtcdVersion.SEPARATE)) {
      flags.add("--tls-min-version=TLS1.3");
    }
    return flags;
  }

  private List<String> housekeeping() {
    List<String> flags =
        new ArrayList<>(
            List.of(
                "--heartbeat-interval=" + heartbeatMillis(),
                "--election-timeout=" + electionMillis(),
                "--snapshot-count=" + settings.snapshotCount(),
                "--quota-backend-bytes=" + settings.quotaBytes(),
                "--auto-compaction-mode=" + settings.compactionMode(),
                "--auto-compaction-retention=" + settings.compactionRetention(),
                "--logger=zap",
                "--log-level=info",
                "--log-outputs=stderr"));
    // The member compares its data with the others before it serves: a member that differs must not
    // vote.
    flags.add(corruptCheck());
    return flags;
  }

  private String corruptCheck() {
    return binary.version().atLeast(EtcdVersion.FEATURE_GATES)
        ? "--feature-gates=InitialCorruptCheck=true"
        : "--experimental-initial-corrupt-check=true";
  }

  private int heartbeatMillis() {
    return alone
        ? Math.min(settings.heartbeatMillis(), ALONE_HEARTBEAT_MILLIS)
        : settings.heartbeatMillis();
  }

  private int electionMillis() {
    return alone
        ? Math.min(settings.electionMillis(), ALONE_ELECTION_MILLIS)
        : settings.electionMillis();
  }

  private static String url(String scheme, InetAddress address, int port) {
    String host = address.getHostAddress();
    return scheme
        + "://"
        + (address instanceof Inet6Address ? "[" + host + "]" : host)
        + ":"
        + port;
  }
}
