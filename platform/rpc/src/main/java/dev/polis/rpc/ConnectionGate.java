package dev.polis.rpc;

import java.net.Inet6Address;
import java.net.InetAddress;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.Arrays;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.LongSupplier;

/**
 * Decides which connections of a port stay open. New ones are always a stranger's, since nobody is
 * known before the handshake; so strangers never fill up the room: a new connection displaces the
 * oldest one of the source that has the most. Members of the cluster have room of their own, and
 * are never displaced. Safe for use by any thread.
 */
final class ConnectionGate {
  /** Seconds whose new connections of one source may come at once: a client that starts. */
  private static final int BURST_SECONDS = 2;

  /** Sources remembered for their rate, 200 bytes each; the oldest is forgotten. */
  private static final int SOURCES = 4096;

  /** The part of an IPv6 address that tells subscribers apart. */
  private static final int IPV6_PREFIX = 8;

  private static final long SECOND = Duration.ofSeconds(1).toNanos();

  private final ConnectionLimits limits;
  private final LongSupplier nanoTime;

  // Guarded by this.
  private final Map<ByteBuffer, Source> sources = new LinkedHashMap<>();
  private final Set<Source> busy = new LinkedHashSet<>();
  private int strangers;
  private int members;
  private long refused;
  private long displaced;
  private long seen;

  /** Makes a gate without connections. */
  ConnectionGate(ConnectionLimits limits) {
    this(limits, System::nanoTime);
  }

  ConnectionGate(ConnectionLimits limits, LongSupplier nanoTime) {
    this.limits = limits;
    this.nanoTime = nanoTime;
  }

  /**
   * Admits a new connection, which may displace another one.
   *
   * @param peer where it comes from
   * @param close closes it at once, on any thread; called at most once, when it is displaced
   * @return what the connection reports to; empty if its source opens too many, and it is to be
   *     closed at once
   */
  Optional<Pass> enter(InetAddress peer, Runnable close) {
    Pass pass;
    Optional<Pass> victim;
    synchronized (this) {
      Source source = source(peer);
      if (!source.takeToken()) {
        refused++;
        source.turnedAway++;
        return Optional.empty();
      }
      victim = victim(source);
      victim.ifPresent(this::displace);
      pass = new Pass(source, close);
      source.strangers.add(pass);
      busy.add(source);
      strangers++;
    }
    // Outside the lock: closing a connection runs code of others.
    victim.ifPresent(each -> each.close.run());
    return Optional.of(pass);
  }

  private Source source(InetAddress peer) {
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

  private Optional<Pass> victim(Source newcomer) {
    if (newcomer.strangers.size() >= limits.perSource()) {
      return Optional.of(newcomer.oldest());
    }
    return strangers < limits.strangers() ? Optional.empty() : Optional.of(greediest().oldest());
  }

  private Source greediest() {
    Source most = busy.iterator().next();
    for (Source each : busy) {
      if (each.strangers.size() > most.strangers.size()) {
        most = each;
      }
    }
    return most;
  }

  private void displace(Pass pass) {
    displaced++;
    pass.source.turnedAway++;
    removeStranger(pass);
    pass.state = State.GONE;
  }

  private void removeStranger(Pass pass) {
    strangers--;
    pass.source.strangers.remove(pass);
    if (pass.source.strangers.isEmpty()) {
      busy.remove(pass.source);
    }
  }

  /**
   * Returns what was turned away since this was asked last. For one caller, who asks from time to
   * time.
   */
  synchronized Pressure pressure() {
    long before = seen;
    seen = refused + displaced;
    Pressure worst = new Pressure(seen - before, 0, "");
    for (Source each : sources.values()) {
      if (each.turnedAway > worst.ofWorst()) {
        worst = new Pressure(seen - before, each.turnedAway, each.name);
      }
      each.turnedAway = 0;
    }
    return worst;
  }

  /**
   * Says how many connections were turned away in a while.
   *
   * @param turnedAway how many were
   * @param ofWorst those of the source that had the most of them
   * @param worst that source; empty if none was turned away
   */
  record Pressure(long turnedAway, long ofWorst, String worst) {}

  /** Counts the connections. */
  synchronized RpcStatistics.Port statistics(String name) {
    return new RpcStatistics.Port(name, members, strangers, refused, displaced);
  }

  /** Is one place of the world that connections come from. Guarded by the gate. */
  private final class Source {
    private final String name;
    private final Set<Pass> strangers = new LinkedHashSet<>();
    private long turnedAway;
    private double tokens = (double) limits.perSecond() * BURST_SECONDS;
    private long filled = nanoTime.getAsLong();

    Source(String name) {
      this.name = name;
    }

    boolean takeToken() {
      long now = nanoTime.getAsLong();
      add((double) (now - filled) * limits.perSecond() / SECOND);
      filled = now;
      if (tokens < 1) {
        return false;
      }
      tokens--;
      return true;
    }

    void add(double more) {
      tokens = Math.min(tokens + more, (double) limits.perSecond() * BURST_SECONDS);
    }

    /** Returns the oldest connection that has not finished its handshake, or else the oldest. */
    Pass oldest() {
      for (Pass each : strangers) {
        if (each.state == State.NEW) {
          return each;
        }
      }
      return strangers.iterator().next();
    }
  }

  private enum State {
    NEW,
    GREETED,
    MEMBER,
    GONE
  }

  /** Stands for one connection that was admitted. */
  final class Pass {
    private final Source source;
    private final Runnable close;
    private State state = State.NEW; // guarded by the gate

    private Pass(Source source, Runnable close) {
      this.source = source;
      this.close = close;
    }

    /** Records that the handshake is over, with somebody who is no member. */
    void greeted() {
      synchronized (ConnectionGate.this) {
        if (state == State.NEW) {
          state = State.GREETED;
        }
      }
    }

    /** Records that the peer has shown a certificate of the cluster. */
    void member() {
      synchronized (ConnectionGate.this) {
        if (state == State.NEW && members < limits.members()) {
          removeStranger(this);
          source.add(1);
          members++;
          state = State.MEMBER;
        } else {
          greeted();
        }
      }
    }

    /** Returns whether the handshake is over. */
    boolean isGreeted() {
      synchronized (ConnectionGate.this) {
        return state == State.GREETED || state == State.MEMBER;
      }
    }

    /** Records that the connection is closed; does nothing the second time. */
    void left() {
      synchronized (ConnectionGate.this) {
        switch (state) {
          case NEW, GREETED -> removeStranger(this);
          case MEMBER -> members--;
          case GONE -> {
            // It was displaced.
          }
        }
        state = State.GONE;
      }
    }
  }
}
