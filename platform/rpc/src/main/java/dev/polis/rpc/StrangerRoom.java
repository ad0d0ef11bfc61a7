package dev.polis.rpc;

import java.net.Inet6Address;
import java.net.InetAddress;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.Arrays;
import java.util.Comparator;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import java.util.function.ToIntFunction;

/**
 * Limits the connections, open calls and request bytes that strangers hold in the memory of this
 * process, at all its ports together. No stranger locks others out: a new connection, or a new
 * call, takes the place of the oldest one of the source that has the most. Members of the cluster
 * use none of this room. Safe for use by any thread.
 *
 * <p>With the default limits a full room holds 31 MiB, a third of the smallest heap of a node: 256
 * connections of 64 KiB, 256 calls of 28 KiB, and 8 MiB of requests.
 */
public final class StrangerRoom {
  /** The seconds whose new connections one source may open at once, as a starting client does. */
  private static final int BURST_SECONDS = 2;

  /** The number of sources whose rate is remembered, 200 bytes each; the oldest is forgotten. */
  private static final int SOURCES = 4096;

  /** The bytes of an IPv6 address that identify a subscriber. */
  private static final int IPV6_PREFIX = 8;

  private static final long SECOND = Duration.ofSeconds(1).toNanos();

  /** The delay after which a caller without room tries again. */
  private static final Duration RETRY = Duration.ofSeconds(5);

  private static final StrangerRoom PROCESS =
      new StrangerRoom(ConnectionLimits.DEFAULT, StrangerCalls.DEFAULT);

  private final LongSupplier nanoTime;
  private final RequestRoom bytes;

  // Guarded by this.
  private ConnectionLimits connectionLimits;
  private StrangerCalls callLimits;
  private final Map<ByteBuffer, Source> sources = new LinkedHashMap<>();
  private final Set<Source> busy = new LinkedHashSet<>();
  private final Set<Call> calls = new LinkedHashSet<>();
  private int connections;
  private int shared;

  /** Makes an empty room. */
  StrangerRoom(ConnectionLimits connections, StrangerCalls calls) {
    this(connections, calls, System::nanoTime);
  }

  StrangerRoom(ConnectionLimits connections, StrangerCalls calls, LongSupplier nanoTime) {
    this.connectionLimits = connections;
    this.callLimits = calls;
    this.nanoTime = nanoTime;
    this.bytes =
        new RequestRoom(
            calls.requestBytes(),
            most ->
                full(
                    "this call has ended: requests of callers without a certificate of the cluster may take %d bytes of this node together, and this one took the most; call again with a smaller one"
                        .formatted(most)));
  }

  /** Returns the room that all ports of this process share. */
  public static StrangerRoom ofProcess() {
    return PROCESS;
  }

  /** Changes the limits; open connections and calls stay. */
  synchronized void limit(ConnectionLimits forConnections, StrangerCalls forCalls) {
    connectionLimits = forConnections;
    callLimits = forCalls;
    bytes.limit(forCalls.requestBytes());
  }

  synchronized ConnectionLimits connectionLimits() {
    return connectionLimits;
  }

  long now() {
    return nanoTime.getAsLong();
  }

  /**
   * Returns a part of this room for a port whose peers all have one address.
   *
   * @param size the most connections of this part
   */
  public Share share(int size) {
    return new Share(size);
  }

  /** Returns the source of an address. The lock is held. */
  Source source(InetAddress peer) {
    byte[] address = peer.getAddress();
    ByteBuffer key =
        ByteBuffer.wrap(
            peer instanceof Inet6Address ? Arrays.copyOf(address, IPV6_PREFIX) : address);
    Source known = sources.get(key);
    if (known != null) {
      return known;
    }
    if (sources.size() >= SOURCES) {
      Iterator<Source> oldest = sources.values().iterator();
      oldest.next();
      oldest.remove();
    }
    Source added = new Source(peer.getHostAddress());
    sources.put(key, added);
    return added;
  }

  /** Counts the sources that are remembered. */
  synchronized int sources() {
    return sources.size();
  }

  // ---- connections; callers hold the lock

  /** Returns the connection that gives way to a new one of a source. */
  Optional<ConnectionGate.Pass> victim(Source newcomer) {
    if (newcomer.connections.size() >= connectionLimits.perSource()) {
      return Optional.of(newcomer.oldest());
    }
    return isFull() ? anyone() : Optional.empty();
  }

  private boolean isFull() {
    return connections + shared >= connectionLimits.strangers();
  }

  private Optional<ConnectionGate.Pass> anyone() {
    return connections == 0
        ? Optional.empty()
        : Optional.of(greediest(source -> source.connections.size()).oldest());
  }

  private Source greediest(ToIntFunction<Source> has) {
    return busy.stream().max(Comparator.comparingInt(has)).orElseThrow();
  }

  void add(ConnectionGate.Pass pass) {
    connections++;
    pass.source().connections.add(pass);
    busy.add(pass.source());
  }

  void remove(ConnectionGate.Pass pass) {
    connections--;
    pass.source().connections.remove(pass);
    forgetIdle(pass.source());
  }

  private void forgetIdle(Source source) {
    if (source.connections.isEmpty() && source.calls.isEmpty()) {
      busy.remove(source);
    }
  }

  // ---- calls

  /**
   * Begins a stranger's call, which may end another one.
   *
   * @param end ends it, on any thread
   * @throws RpcException UNAVAILABLE if its connection or its source has too many; the message
   *     names the limit
   */
  Call begin(ConnectionGate.Pass pass, Kind kind, Consumer<RpcException> end) {
    Optional<Call> victim;
    Call call;
    synchronized (this) {
      requireRoom(pass, kind);
      victim =
          calls.size() < callLimits.open()
              ? Optional.empty()
              : Optional.of(greediest(source -> source.calls.size()).calls.getFirst());
      victim.ifPresent(this::turnAway);
      call =
          new Call(
              pass, end, kind == Kind.CALL ? now() + callLimits.time().toNanos() : Long.MAX_VALUE);
      calls.add(call);
      pass.source().calls.add(call);
      busy.add(pass.source());
      pass.began();
    }
    victim.ifPresent(
        each ->
            each.end.accept(
                full(
                    "this call has ended: callers without a certificate of the cluster have room for %d calls at this node, and newer ones take the place of those of the source that has the most"
                        .formatted(callLimits.open()))));
    return call;
  }

  private void requireRoom(ConnectionGate.Pass pass, Kind kind) {
    if (pass.calls() >= callLimits.perConnection()) {
      pass.gate().calls().add(pass.source().name);
      throw full(
          "a caller without a certificate of the cluster may have %d calls open on one connection; end one of them first"
              .formatted(callLimits.perConnection()));
    }
    if (kind != Kind.LOCAL && pass.source().calls.size() >= callLimits.perSource()) {
      pass.gate().calls().add(pass.source().name);
      throw full(
          "callers without a certificate of the cluster may have %d calls open from one address, and %s has them; end one of them first"
              .formatted(callLimits.perSource(), pass.source().name));
    }
  }

  private static RpcException full(String message) {
    return RpcException.unavailable(
        "%s, or call with a certificate that this cluster issued".formatted(message), RETRY);
  }

  private void turnAway(Call call) {
    call.pass.gate().calls().add(call.pass.source().name);
    remove(call);
  }

  private void remove(Call call) {
    if (calls.remove(call)) {
      call.pass.source().calls.remove(call);
      forgetIdle(call.pass.source());
      call.requests.over();
      call.pass.ended();
    }
  }

  /** Ends the calls that take too long; the host calls it from time to time. */
  void endLate() {
    List<Call> late;
    Duration time;
    synchronized (this) {
      long now = now();
      time = callLimits.time();
      late = calls.stream().filter(call -> call.until < now).toList();
      late.forEach(this::remove);
    }
    late.forEach(
        call ->
            call.end.accept(
                RpcException.unavailable(
                    "a caller without a certificate of the cluster may have a call open for %d s; call again"
                        .formatted(time.toSeconds()),
                    RETRY)));
  }

  /** Returns the number of request bytes that strangers hold. */
  long bytes() {
    return bytes.bytes();
  }

  /** Names the limits of a call besides its connection and the room. */
  enum Kind {
    /** Limited by its source and its time. */
    CALL,

    /** Limited by its source; the tenant that answers it limits its time. */
    REQUEST,

    /**
     * Unlimited, since only this machine reaches the port, and all its callers have one address.
     */
    LOCAL
  }

  /** Is one origin of connections, such as an address. Guarded by the room. */
  final class Source {
    private final String name;
    private final Set<ConnectionGate.Pass> connections = new LinkedHashSet<>();
    private final LinkedHashSet<Call> calls = new LinkedHashSet<>();
    private double tokens = (double) connectionLimits.perSecond() * BURST_SECONDS;
    private long filled = now();

    Source(String name) {
      this.name = name;
    }

    String name() {
      return name;
    }

    boolean takeToken() {
      long now = now();
      addTokens((double) (now - filled) * connectionLimits.perSecond() / SECOND);
      filled = now;
      if (tokens < 1) {
        return false;
      }
      tokens--;
      return true;
    }

    void addTokens(double more) {
      tokens = Math.min(tokens + more, (double) connectionLimits.perSecond() * BURST_SECONDS);
    }

    /** Returns the oldest connection that has not finished its handshake, or else the oldest. */
    private ConnectionGate.Pass oldest() {
      return connections.stream()
          .filter(ConnectionGate.Pass::isNew)
          .findFirst()
          .orElseGet(() -> connections.iterator().next());
    }
  }

  /** Stands for one call that was begun, with the bytes of its requests. */
  final class Call {
    private final ConnectionGate.Pass pass;
    private final Consumer<RpcException> end;
    private final long until;
    private final RequestRoom.Requests requests;

    private Call(ConnectionGate.Pass pass, Consumer<RpcException> end, long until) {
      this.pass = pass;
      this.end = end;
      this.until = until;
      this.requests = bytes.begin(pass.source(), this::tooLarge);
    }

    /** Returns the bytes of its requests. */
    RequestRoom.Requests requests() {
      return requests;
    }

    private void tooLarge(RpcException why) {
      synchronized (StrangerRoom.this) {
        turnAway(this);
      }
      end.accept(why);
    }

    /** Records that the call has ended; does nothing the second time. */
    void over() {
      synchronized (StrangerRoom.this) {
        remove(this);
      }
    }
  }

  /**
   * Is the part of the room for a port whose peers all have one address. When the room is full, its
   * connection takes the place of a stranger's connection at another port, never the reverse.
   */
  public final class Share {
    private final int size;
    private int taken; // guarded by the room

    private Share(int size) {
      this.size = size;
    }

    /** Takes a place for a connection; returns false if none is free. */
    public boolean tryTake() {
      Optional<ConnectionGate.Pass> victim = Optional.empty();
      synchronized (StrangerRoom.this) {
        if (taken >= size) {
          return false;
        }
        if (isFull()) {
          victim = anyone();
          if (victim.isEmpty()) {
            return false;
          }
          victim.get().displaced();
        }
        taken++;
        shared++;
      }
      victim.ifPresent(ConnectionGate.Pass::close);
      return true;
    }

    /** Returns a place to the room. */
    public void giveBack() {
      synchronized (StrangerRoom.this) {
        taken--;
        shared--;
      }
    }
  }
}
