package dev.polis.etcd;

/**
 * Names one endpoint for clients of etcd.
 *
 * @param host address or host name to connect to
 * @param port TCP port, 1..65535
 * @param serverName name that the server's certificate must carry, usually {@code host}; {@code
 *     of(address).named(nodeId)} is the endpoint of a member whose certificate has its node id
 */
public record EtcdEndpoint(String host, int port, String serverName) {

  private static final int MAX_PORT = 65535;

  public EtcdEndpoint {
    if (host.isBlank() || serverName.isBlank()) {
      throw new IllegalArgumentException(
          "etcd endpoint \"" + host + ":" + port + "\" lacks a host; write host:port");
    }
    if (port < 1 || port > MAX_PORT) {
      throw new IllegalArgumentException(
          "etcd endpoint \"" + host + ":" + port + "\" has no valid port; use 1.." + MAX_PORT);
    }
  }

  /** Parses {@code host:port}; an IPv6 address stands in brackets. */
  public static EtcdEndpoint of(String hostAndPort) {
    int colon = hostAndPort.lastIndexOf(':');
    if (colon <= 0) {
      throw new IllegalArgumentException(
          "etcd endpoint \"" + hostAndPort + "\" has no port; write host:port");
    }
    String host = hostAndPort.substring(0, colon);
    if (host.startsWith("[") && host.endsWith("]")) {
      host = host.substring(1, host.length() - 1);
    }
    try {
      int port = Integer.parseInt(hostAndPort.substring(colon + 1));
      return new EtcdEndpoint(host, port, host);
    } catch (NumberFormatException notANumber) {
      throw new IllegalArgumentException(
          "etcd endpoint \"" + hostAndPort + "\" has a port that is not a number", notANumber);
    }
  }

  /** Returns the same address with another name for the certificate. */
  public EtcdEndpoint named(String name) {
    return new EtcdEndpoint(host, port, name);
  }

  @Override
  public String toString() {
    return host.indexOf(':') < 0 ? host + ":" + port : "[" + host + "]:" + port;
  }
}
