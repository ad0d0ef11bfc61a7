package dev.polis.etcd;

import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Supplier;
import java.util.stream.IntStream;

/**
 * Holds the data for access to etcd as one user. Consensus hands it out; {@link
 * EtcdClient#connect(EtcdAccess)} opens a connection with it.
 *
 * @param endpoints members to talk to, in order of preference, at least one
 * @param security the protection of the connection
 * @param namespace the part of the key space that the client sees
 * @param hold holds the client's writes while the member starts again
 */
public record EtcdAccess(
    List<EtcdEndpoint> endpoints, Security security, EtcdNamespace namespace, EtcdHold hold) {

  /** Selects the protection of a connection. */
  public sealed interface Security {}

  /** Leaves the connection unprotected; for loopback and tests. */
  public record Plaintext() implements Security {}

  /**
   * Protects the connection with mutual TLS. Each handshake takes the newest key, certificate and
   * CAs, so a client outlives a rotation of them.
   *
   * @param newest returns them, without blocking
   */
  public record MutualTls(Supplier<EtcdTls> newest) implements Security {
    /** Takes the same key, certificate and CAs for ever. */
    public MutualTls(EtcdTls fixed) {
      this(() -> fixed);
    }

    /**
     * Takes the newest that another object has set. A connection then holds no class of the organ
     * that sets them, which may be replaced while the connection stays.
     */
    public MutualTls(AtomicReference<EtcdTls> newest) {
      this(newest::get);
    }

    /** Returns the newest key, certificate and CAs. */
    public EtcdTls tls() {
      return newest.get();
    }
  }

  public EtcdAccess {
    endpoints = List.copyOf(endpoints);
    if (endpoints.isEmpty()) {
      throw new IllegalArgumentException("etcd access names no endpoint; give at least one");
    }
  }

  /** Names an access whose writes nothing holds. */
  public EtcdAccess(List<EtcdEndpoint> endpoints, Security security, EtcdNamespace namespace) {
    this(endpoints, security, namespace, EtcdHold.NONE);
  }

  /** Returns unprotected access to the root namespace. */
  public static EtcdAccess plaintext(String... endpoints) {
    return new EtcdAccess(parse(List.of(endpoints)), new Plaintext(), EtcdNamespace.ROOT);
  }

  /** Returns access by mutual TLS to the root namespace. */
  public static EtcdAccess tls(List<EtcdEndpoint> endpoints, EtcdTls tls) {
    return new EtcdAccess(endpoints, new MutualTls(tls), EtcdNamespace.ROOT);
  }

  /** Returns the same access, limited to the namespace {@code part} within the present one. */
  public EtcdAccess sub(String part) {
    return new EtcdAccess(endpoints, security, namespace.sub(part), hold);
  }

  /** Returns the same access through other members. */
  public EtcdAccess through(List<EtcdEndpoint> others) {
    return new EtcdAccess(others, security, namespace);
  }

  /**
   * Returns whether another access has the same user, namespace and members. It compares object
   * references first: Java's first comparison of two records takes milliseconds, which delay a
   * start of the node.
   */
  boolean sameAs(EtcdAccess other) {
    return namespace.prefix().equals(other.namespace.prefix())
        && tls().equals(other.tls())
        && endpoints.size() == other.endpoints.size()
        && IntStream.range(0, endpoints.size())
            .allMatch(i -> Objects.equals(endpoints.get(i), other.endpoints.get(i)));
  }

  Optional<EtcdTls> tls() {
    return identity().map(Supplier::get);
  }

  Optional<Supplier<EtcdTls>> identity() {
    return security instanceof MutualTls(Supplier<EtcdTls> newest)
        ? Optional.of(newest)
        : Optional.empty();
  }

  private static List<EtcdEndpoint> parse(List<String> endpoints) {
    return endpoints.stream().map(EtcdEndpoint::of).toList();
  }
}
