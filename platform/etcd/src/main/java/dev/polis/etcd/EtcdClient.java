package dev.polis.etcd;

import dev.polis.base.values.Value;
import dev.polis.base.values.Watcher;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * Gives one user access to one namespace of etcd. {@link #connect} opens a connection, which its
 * caller owns; {@link #sub} gives narrower views of it. The close of a client ends its watches,
 * leases, elections and watchers; the close of the connected client ends the connection with all
 * views. Thread-safe.
 */
public final class EtcdClient implements AutoCloseable {

  private final EtcdConnection connection;
  private final EtcdNamespace namespace;
  private final Wire wire;
  private final KeyValues kv;
  private final Leases leases;
  private final Runnable afterClose;
  private final Set<AutoCloseable> opened = ConcurrentHashMap.newKeySet();
  private final AtomicBoolean closed = new AtomicBoolean();

  private EtcdClient(EtcdConnection connection, EtcdNamespace namespace, Runnable afterClose) {
    this.connection = connection;
    this.namespace = namespace;
    this.wire = Wire.of(namespace);
    this.kv = new KeyValues(connection, wire, EtcdConnection.DEFAULT_DEADLINE, List.of());
    this.leases = new Leases(connection, this);
    this.afterClose = afterClose;
  }

  /**
   * Opens a connection and returns at once; the first call contacts a member.
   *
   * @throws IllegalArgumentException if the key or certificate cannot be used
   */
  public static EtcdClient connect(EtcdAccess access) {
    return connect(access, LeaseClocks.SYSTEM);
  }

  static EtcdClient connect(EtcdAccess access, LeaseClocks clocks) {
    EtcdConnection connection = new EtcdConnection(access, clocks);
    return new EtcdClient(connection, access.namespace(), connection::close);
  }

  /**
   * Returns a view of the namespace {@code part} within this one, over the same connection.
   *
   * @throws IllegalArgumentException if the part is empty or holds ':' or '/'
   */
  public EtcdClient sub(String part) {
    requireOpen();
    return own(new EtcdClient(connection, namespace.sub(part), () -> {}));
  }

  /**
   * Returns a client of the same namespace, over the same connection.
   *
   * @param afterClose runs once, when that client has been closed
   */
  EtcdClient shared(Runnable afterClose) {
    requireOpen();
    return new EtcdClient(connection, namespace, afterClose);
  }

  /** Returns the part of the key space that this client sees. */
  public EtcdNamespace namespace() {
    return namespace;
  }

  /** Returns the reads and writes of this namespace. */
  public KeyValues kv() {
    return kv;
  }

  /** Returns leases, which belong to no namespace. */
  public Leases leases() {
    return leases;
  }

  /**
   * Opens a watch, which the caller closes. A begin "now" or with a snapshot needs a linearizable
   * read; only "now" waits for it.
   */
  public EtcdWatch watch(KeyRange range, WatchOptions options) throws InterruptedException {
    requireOpen();
    WatchOptions.Start start =
        options.start() instanceof WatchOptions.Now
            ? new WatchOptions.FromRevision(present(range) + 1)
            : options.start();
    EtcdWatch watch = new EtcdWatch(connection, wire, range, options, start, opened::remove);
    own(watch);
    watch.open();
    return watch;
  }

  private long present(KeyRange range) throws InterruptedException {
    return kv.range(range, RangeOptions.DEFAULT.withLimit(1).withKeysOnly()).revision();
  }

  /**
   * Returns a key as a value. Its watchers get the newest state, and each later one if they are
   * fast enough. They wait for a missing key, and decode a deleted one from an empty input. {@link
   * Watcher#poll} returns only states that existed at the last get; the first poll waits for the
   * first listing. {@link Value#peek} reads etcd once.
   */
  public <T> Value<T> value(String key, ValueDecoder<? extends T> decoder) {
    return new EtcdValue<>(this, KeyRange.single(key), decoder);
  }

  /**
   * Returns a range as a value. Each get returns the newest state of one changed key, oldest change
   * first; at first, all existing keys count as changed. {@link Value#peek} gives the key changed
   * last.
   */
  public <T> Value<T> range(KeyRange range, ValueDecoder<? extends T> decoder) {
    return new EtcdValue<>(this, range, decoder);
  }

  <T> Watcher<T> watcher(KeyRange range, EtcdValue<T> value) {
    requireOpen();
    EtcdValueWatcher<T> watcher =
        own(new EtcdValueWatcher<>(connection, wire, range, value, opened::remove));
    watcher.open();
    return watcher;
  }

  /** Stands for election until the returned candidate is closed. */
  public Election election(ElectionOptions options) {
    requireOpen();
    Election election = own(new Election(this, options, opened::remove));
    election.start();
    return election;
  }

  /**
   * Returns the administration of the whole cluster: members, users, maintenance.
   *
   * @throws IllegalStateException if this client is limited to a namespace
   */
  public EtcdAdmin admin() {
    requireOpen();
    if (!namespace.isRoot()) {
      throw new IllegalStateException(
          "a client of namespace "
              + namespace
              + " cannot administer the etcd cluster; use a client of the root namespace");
    }
    return new EtcdAdmin(connection, Duration.ofSeconds(10));
  }

  /**
   * Replaces the members that the connection uses. Watches, leases and elections move
   * automatically; running calls on a removed member may finish.
   */
  public void moveTo(List<EtcdEndpoint> endpoints) {
    connection.moveTo(endpoints);
  }

  EtcdConnection connection() {
    return connection;
  }

  <C extends AutoCloseable> C own(C resource) {
    opened.add(resource);
    if (resource instanceof Lease lease) {
      lease.onEnd(() -> opened.remove(lease));
    }
    return resource;
  }

  private void requireOpen() {
    if (closed.get() || connection.isClosed()) {
      throw new EtcdClosedException(
          "the etcd client of namespace " + namespace + " is closed; its owner must open a new one",
          null);
    }
  }

  @Override
  public void close() {
    boolean again = closed.getAndSet(true);
    for (AutoCloseable resource : List.copyOf(opened)) {
      try {
        resource.close();
      } catch (Exception impossible) {
        throw new AssertionError("closing " + resource + " does not throw", impossible);
      }
    }
    opened.clear();
    if (!again) {
      afterClose.run();
    }
  }
}
