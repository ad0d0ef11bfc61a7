package dev.polis.metrics;

import dev.polis.api.cluster.ClusterStatus;
import dev.polis.event.Value;
import java.io.IOException;
import java.io.InputStream;
import java.net.HttpURLConnection;
import java.net.InetAddress;
import java.net.Proxy;
import java.net.URI;
import java.time.Duration;

/**
 * Passes on what the local etcd says about itself: it does so on a loopback port, without asking
 * who reads.
 */
final class EtcdPage {
  /** On the same machine a connection takes well under a millisecond. */
  private static final Duration CONNECT = Duration.ofSeconds(1);

  /** Half of Prometheus' own default of 10 s, so that its reader hears the reason. */
  private static final Duration ANSWER = Duration.ofSeconds(5);

  /** Some thirty times what etcd has to say. */
  private static final int MAX_BYTES = 8 << 20;

  private final InetAddress address; // null: a loopback address of the node's family
  private final int port;
  private final Value<ClusterStatus> cluster;

  /**
   * Reads there.
   *
   * @param address where etcd serves its metrics; empty for a loopback address
   * @throws IllegalArgumentException if it is no address
   */
  EtcdPage(String address, int port, Value<ClusterStatus> cluster) {
    this.address = address.isEmpty() ? null : parse(address);
    this.port = port;
    this.cluster = cluster;
  }

  private static InetAddress parse(String address) {
    try {
      return InetAddress.ofLiteral(address);
    } catch (IllegalArgumentException e) {
      throw new IllegalArgumentException(
          "dev.polis.metrics: etcd.address is \"%s\", which is no IP address".formatted(address),
          e);
    }
  }

  /** Asks etcd now. */
  Page fetch(InetAddress node) {
    if (cluster.peek().filter(ClusterStatus::hasLocalConsensus).isEmpty()) {
      return Page.text(
          HttpURLConnection.HTTP_NOT_FOUND,
          "this node runs no member of consensus; ask a node that does");
    }
    String url = "http://%s:%d/metrics".formatted(host(node), port);
    try {
      return read(url);
    } catch (IOException e) {
      return Page.text(
          HttpURLConnection.HTTP_BAD_GATEWAY,
          "etcd does not answer at %s: %s; see the log of root.consensus"
              .formatted(url, e.getMessage()));
    }
  }

  private String host(InetAddress node) {
    InetAddress own = node.isLoopbackAddress() ? node : InetAddress.getLoopbackAddress();
    String text = (address == null ? own : address).getHostAddress();
    return text.contains(":") ? "[" + text + "]" : text;
  }

  private static Page read(String url) throws IOException {
    HttpURLConnection connection =
        (HttpURLConnection) URI.create(url).toURL().openConnection(Proxy.NO_PROXY);
    connection.setConnectTimeout((int) CONNECT.toMillis());
    connection.setReadTimeout((int) ANSWER.toMillis());
    // An idle connection would keep a thread of the JDK's own, between scrapes too.
    connection.setRequestProperty("Connection", "close");
    try {
      int status = connection.getResponseCode();
      if (status != HttpURLConnection.HTTP_OK) {
        throw new IOException("it answers " + status);
      }
      try (InputStream in = connection.getInputStream()) {
        byte[] body = in.readNBytes(MAX_BYTES + 1);
        if (body.length > MAX_BYTES) {
          throw new IOException("it says more than " + MAX_BYTES + " bytes");
        }
        return new Page(status, connection.getContentType(), body);
      }
    } finally {
      connection.disconnect();
    }
  }
}
