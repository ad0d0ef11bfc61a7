package dev.polis.rpc;

import io.grpc.Attributes;
import java.net.InetAddress;
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.function.Predicate;
import javax.security.auth.x500.X500Principal;

/**
 * Decides which connections of a port stay open. A new connection counts as a stranger's, since no
 * peer is known before the handshake, and takes a place in the {@link StrangerRoom} that all ports
 * share. Members of the cluster have room of their own at each port, and are never displaced. Safe
 * for use by any thread.
 */
final class ConnectionGate {
  private final StrangerRoom room;
  private final TurnedAway connections = new TurnedAway();
  private final TurnedAway calls = new TurnedAway();

  // Guarded by the room.
  private int strangers;
  private int members;
  private final Map<X500Principal, Integer> ofMember = new HashMap<>();
  private int open;
  private long refused;
  private long displaced;

  /** Makes a gate without connections. */
  ConnectionGate(StrangerRoom room) {
    this.room = room;
  }

  /** Counts the connections that were turned away. */
  TurnedAway connections() {
    return connections;
  }

  /** Counts the calls of strangers that were turned away. */
  TurnedAway calls() {
    return calls;
  }

  /**
   * Admits a new connection, which may displace another one, of any port.
   *
   * @param peer the address of the peer
   * @param close closes the connection of a pass at once, on any thread; called when another
   *     connection displaces it, or its certificate is revoked
   * @return the pass of the connection; empty if its source opens too many connections, and the
   *     caller has to close this one
   */
  Optional<Pass> enter(InetAddress peer, Consumer<Pass> close) {
    Pass pass;
    Optional<Pass> victim;
    synchronized (room) {
      StrangerRoom.Source source = room.source(peer);
      if (!source.takeToken()) {
        refused++;
        connections.add(source.name());
        return Optional.empty();
      }
      victim = room.victim(source);
      victim.ifPresent(Pass::displaced);
      pass = new Pass(source, close);
      room.add(pass);
      strangers++;
    }
    // Outside the lock, since closing a connection runs foreign code.
    victim.ifPresent(Pass::close);
    return Optional.of(pass);
  }

  /** Counts the connections and the calls of strangers at this port. */
  RpcStatistics.Port statistics(String name) {
    synchronized (room) {
      return new RpcStatistics.Port(
          name, members, strangers, refused, displaced, open, calls.total());
    }
  }

  /**
   * Returns the owner of a certificate; all certificates of one node or one user have the same
   * owner.
   */
  private static X500Principal owner(X509Certificate certificate) {
    return certificate.getSubjectX500Principal();
  }

  private enum State {
    NEW,
    GREETED,
    MEMBER,
    GONE
  }

  /** Stands for one admitted connection. */
  final class Pass {
    /** Key of the pass of a connection in the attributes of its calls. */
    static final Attributes.Key<Pass> KEY = Attributes.Key.create("polis-rpc-pass");

    private final StrangerRoom.Source source;
    private final Consumer<Pass> close;

    /**
     * The certificate of the cluster that the peer has shown, even if the members' room was full;
     * null for a stranger.
     */
    private volatile X509Certificate shown;

    // Guarded by the room.
    private State state = State.NEW;
    private int begun;
    private long quietSince = room.now();

    private Pass(StrangerRoom.Source source, Consumer<Pass> close) {
      this.source = source;
      this.close = close;
    }

    StrangerRoom.Source source() {
      return source;
    }

    ConnectionGate gate() {
      return ConnectionGate.this;
    }

    /** Records that the handshake is over and that the peer is a stranger. */
    void greeted() {
      synchronized (room) {
        if (state == State.NEW) {
          state = State.GREETED;
          quietSince = room.now();
        }
      }
    }

    /** Records that the peer has shown a certificate of the cluster. */
    void member(X509Certificate certificate) {
      if (isKnown()) {
        return;
      }
      shown = certificate;
      synchronized (room) {
        if ((state == State.NEW || state == State.GREETED) && hasRoom(owner(certificate))) {
          leaveRoom();
          source.addTokens(1);
          members++;
          ofMember.merge(owner(certificate), 1, Integer::sum);
          state = State.MEMBER;
        } else {
          greeted();
        }
      }
    }

    private boolean hasRoom(X500Principal member) {
      ConnectionLimits limits = room.connectionLimits();
      return members < limits.members() && ofMember.getOrDefault(member, 0) < limits.perMember();
    }

    private void leaveMembers() {
      members--;
      ofMember.computeIfPresent(owner(shown), (owner, has) -> has == 1 ? null : has - 1);
    }

    /** Returns the key under which callers share room: the member, or the source of a stranger. */
    Object caller() {
      X509Certificate certificate = shown;
      return certificate == null ? source : owner(certificate);
    }

    /** Returns whether the peer has shown such a certificate. */
    boolean hasShown(Predicate<X509Certificate> which) {
      X509Certificate certificate = shown;
      return certificate != null && which.test(certificate);
    }

    /** Returns whether the handshake is not over. The lock of the room is held. */
    boolean isNew() {
      return state == State.NEW;
    }

    /**
     * Begins a call of a stranger.
     *
     * @param end ends it, on any thread
     * @throws RpcException UNAVAILABLE if there are too many; the message names the limit
     */
    StrangerRoom.Call begin(StrangerRoom.Kind kind, Consumer<RpcException> end) {
      return room.begin(this, kind, end);
    }

    /** Counts a call; the caller holds the lock of the room, as in the next two methods. */
    void began() {
      greeted();
      begun++;
      open++;
    }

    void ended() {
      begun--;
      open--;
      quietSince = room.now();
    }

    int calls() {
      return begun;
    }

    /** Returns the time since a stranger's last call; zero for a member, and during a call. */
    Duration quiet() {
      synchronized (room) {
        return isKnown() || begun > 0 ? Duration.ZERO : Duration.ofNanos(room.now() - quietSince);
      }
    }

    /** Returns whether the peer has shown a certificate of the cluster. */
    boolean isKnown() {
      return shown != null;
    }

    /** Records that the connection gives way to another one; the lock of the room is held. */
    void displaced() {
      displaced++;
      connections.add(source.name());
      leaveRoom();
      state = State.GONE;
    }

    private void leaveRoom() {
      strangers--;
      room.remove(this);
    }

    /** Closes the connection. */
    void close() {
      close.accept(this);
    }

    /** Records that the connection is closed; does nothing the second time. */
    void left() {
      synchronized (room) {
        switch (state) {
          case NEW, GREETED -> leaveRoom();
          case MEMBER -> leaveMembers();
          case GONE -> {
            // Another connection has displaced it.
          }
        }
        state = State.GONE;
      }
    }
  }
}
