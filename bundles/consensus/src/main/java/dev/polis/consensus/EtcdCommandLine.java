package dev.polis.consensus;

import dev.polis.files.layout.Root;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.util.ArrayList;
import java.util.List;

/**
 * Makes the flags of the member. The same member on the same address always gets the same flags: a
 * running etcd is adopted only if they match.
 *
 * @param binary which etcd
 * @param name the member's name, the node id
 * @param token sets this cluster apart from every other one on the network
 * @param address the node's address
 * @param settings the configuration
 * @param files where etcd's files are
 */
record EtcdCommandLine(
    EtcdBinary binary,
    String name,
    String token,
    InetAddress address,
    ConsensusSettings settings,
    Root.Etcd files) {

  /** Where clients connect. */
  String clientUrl() {
    return url("https", address, settings.clientPort());
  }

  /** Where members connect. */
  String peerUrl() {
    return url("https", address, settings.peerPort());
  }

  /** The program and its arguments. */
  List<String> arguments() {
    List<String> line = new ArrayList<>();
    line.add(binary.path().toString());
    line.addAll(identity());
    line.addAll(addresses());
    line.addAll(encryption());
    line.addAll(housekeeping());
    return List.copyOf(line);
  }

  private List<String> identity() {
    return List.of(
        "--name=" + name,
        "--data-dir=" + files.data().path(),
        "--initial-cluster=" + name + "=" + peerUrl(),
        // Ignored by a member with data; that an empty directory is meant is checked before.
        "--initial-cluster-state=new",
        "--initial-cluster-token=" + token);
  }

  private List<String> addresses() {
    return List.of(
        "--listen-client-urls=" + clientUrl(),
        "--advertise-client-urls=" + clientUrl(),
        "--listen-peer-urls=" + peerUrl(),
        "--initial-advertise-peer-urls=" + peerUrl(),
        // HTTP at a socket of its own leaves gRPC on the client port to gRPC's own server: on a
        // shared one, watches starve while somebody reads much (etcd issue 15402).
        (binary.version().atLeast(EtcdVersion.SEPARATE)
                ? "--listen-client-http-urls="
                : "--listen-metrics-urls=")
            + "unix://"
            + EtcdHttp.SOCKET,
        // Nobody speaks JSON to it, and the gateway would need the root user to be of use.
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
    if (binary.version().atLeast(EtcdVersion.SEPARATE)) {
      flags.add("--tls-min-version=TLS1.3");
    }
    return flags;
  }

  private List<String> housekeeping() {
    List<String> flags =
        new ArrayList<>(
            List.of(
                "--heartbeat-interval=" + settings.heartbeatMillis(),
                "--election-timeout=" + settings.electionMillis(),
                "--snapshot-count=" + settings.snapshotCount(),
                "--quota-backend-bytes=" + settings.quotaBytes(),
                "--auto-compaction-mode=" + settings.compactionMode(),
                "--auto-compaction-retention=" + settings.compactionRetention(),
                "--logger=zap",
                "--log-level=info",
                "--log-outputs=stderr"));
    // Compares data with the other members before it serves: a member that differs must not vote.
    flags.add(
        binary.version().atLeast(EtcdVersion.FEATURE_GATES)
            ? "--feature-gates=InitialCorruptCheck=true"
            : "--experimental-initial-corrupt-check=true");
    return flags;
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
