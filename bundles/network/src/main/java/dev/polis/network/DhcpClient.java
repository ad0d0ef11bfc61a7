package dev.polis.network;

import dev.polis.base.backoff.Backoff;
import java.net.Inet4Address;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.function.Supplier;
import java.util.random.RandomGenerator;

/**
 * Decides what a DHCP client of one interface does (RFC 2131): it takes the time and the messages
 * of servers, and returns messages to send and changes of the lease. It waits for nothing and sends
 * nothing itself. Not thread-safe.
 *
 * <pre>
 *   a lease on the disk ─▶ REBOOTING ──ACK─────────────────────────────────┐
 *                              │ NAK, 10 s                                 ▼
 *   no lease ─▶ DISCOVERING ◀──┴──── NAK, 30 s ── REQUESTING ──ACK──▶ BOUND ◀──ACK──┐
 *                 ▲   └──────────── offer ───────────▲                  │ T1        │
 *                 │                                                     ▼           │
 *                 └── NAK, expiry ── REBINDING ◀──────── T2 ─────── RENEWING ───────┤
 *                                        └──────────────────────────────────────────┘
 * </pre>
 */
final class DhcpClient {

  /** Lists the states, named as in RFC 2131. */
  enum State {
    /** Asks all servers for the address of a stored lease. */
    REBOOTING,
    /** Asks all servers for an offer. */
    DISCOVERING,
    /** Asks for the offered address. */
    REQUESTING,
    /** Has a lease and asks nothing. */
    BOUND,
    /** Has a lease and asks its server for more time. */
    RENEWING,
    /** Has a lease and asks all servers for more time. */
    REBINDING
  }

  /** Is one decision of the client. */
  sealed interface Output {

    /** Send a message on the present channel. */
    record Send(DhcpMessage message) implements Output {}

    /** Give the interface an address, or change its settings or lifetime. */
    record Obtained(DhcpLease lease) implements Output {}

    /** Remove each address that came from DHCP. */
    record Lost(String reason) implements Output {}

    /** Nothing: a message was dropped, since its content cannot be right. */
    record Dropped(String reason) implements Output {}
  }

  /** Says how messages are exchanged. */
  sealed interface Channel {

    /** Not at all: the client receives nothing. */
    record Closed() implements Channel {}

    /** With all machines on the link. */
    record Broadcast() implements Channel {}

    /** With the server of the lease. */
    record Unicast(Inet4Address own, Inet4Address server) implements Channel {}
  }

  /** Identifies the vendor of the client to a server, as the reference's name does there. */
  private static final String VENDOR_CLASS = "dev.polis.node.v1";

  /** The options that the client asks for. */
  private static final byte[] PARAMETERS = {1, 3, 6, 15, 26, 42, 51, 54, 58, 59, 121};

  /** The length of a message that fits in one packet of Ethernet, without IP and UDP headers. */
  private static final byte[] LARGEST_MESSAGE =
      ByteBuffer.allocate(2).putShort((short) 1472).array();

  // The reference's figures.
  private static final Duration FIRST_PAUSE = Duration.ofMillis(1400);
  private static final Duration LONGEST_PAUSE = Duration.ofSeconds(30);
  private static final Duration LONGEST_RENEWAL_PAUSE = Duration.ofMinutes(5);
  private static final Duration LONGEST_REQUEST = Duration.ofSeconds(30);

  /** Long enough for three requests; then an address from anew is better than none. */
  private static final Duration LONGEST_REBOOT = Duration.ofSeconds(10);

  /** With less time than this to the end of a state an answer would come too late. */
  private static final Duration TOO_LATE = Duration.ofMillis(10);

  private final byte[] hardware;
  private final Supplier<Optional<String>> hostName;
  private final RandomGenerator random;
  private final Backoff asking;
  private State state;
  private Instant since;
  private Instant deadline = Instant.MAX;
  private Instant nextSend;
  private Instant sent;
  private Instant started;
  private Backoff pauses;
  private int transaction;
  private DhcpLease lease; // null without one; in REBOOTING not yet confirmed
  private DhcpLease offer; // null before the first one

  /**
   * Starts without a lease, or asks for the address of a stored one.
   *
   * @param hardware the Ethernet address of the interface
   * @param hostName the node's name, once it has one
   */
  DhcpClient(
      byte[] hardware,
      Supplier<Optional<String>> hostName,
      RandomGenerator random,
      Optional<DhcpLease> stored,
      Instant now) {
    this.hardware = hardware.clone();
    this.hostName = hostName;
    this.random = random;
    this.asking = new Backoff(FIRST_PAUSE, LONGEST_PAUSE, random::nextDouble);
    this.lease = stored.orElse(null);
    this.sent = now;
    if (stored.isPresent()) {
      begin(State.REBOOTING, asking, now, now.plus(LONGEST_REBOOT));
    } else {
      begin(State.DISCOVERING, asking, now, Instant.MAX);
    }
  }

  /** Continues with the address of a lease, which the interface has already. */
  void adopt() {
    bind(lease, since);
  }

  State state() {
    return state;
  }

  /** Returns the begin of the present state. */
  Instant since() {
    return since;
  }

  /** Returns the lease whose address the interface has. */
  Optional<DhcpLease> lease() {
    return state == State.REBOOTING ? Optional.empty() : Optional.ofNullable(lease);
  }

  /** Returns the time of the next {@link #tick}. */
  Instant wakeup() {
    return nextSend.isBefore(deadline) ? nextSend : deadline;
  }

  Channel channel() {
    return switch (state) {
      case BOUND -> new Channel.Closed();
      case RENEWING -> new Channel.Unicast(lease.own(), lease.server());
      case REBOOTING, DISCOVERING, REQUESTING, REBINDING -> new Channel.Broadcast();
    };
  }

  /** Asks again at once, for instance since the link has got a carrier. */
  void hurry(Instant now) {
    if (state != State.BOUND) {
      pauses.reset();
      nextSend = now;
    }
  }

  // ---- time

  /** Does what is due. */
  List<Output> tick(Instant now) {
    List<Output> outputs = new ArrayList<>();
    while (!now.isBefore(deadline)
        || !now.isBefore(nextSend) && Duration.between(now, deadline).compareTo(TOO_LATE) < 0) {
      end(now, outputs);
    }
    if (!now.isBefore(nextSend)) {
      sent = now;
      outputs.add(new Output.Send(question(now)));
      nextSend = now.plus(pauses.next());
    }
    return outputs;
  }

  /** Leaves a state whose time is over. */
  private void end(Instant now, List<Output> outputs) {
    Backoff renewing = new Backoff(FIRST_PAUSE, LONGEST_RENEWAL_PAUSE, random::nextDouble);
    switch (state) {
      case BOUND -> begin(State.RENEWING, renewing, now, lease.rebindAt());
      case RENEWING -> begin(State.REBINDING, renewing, now, lease.expiry());
      case REBINDING ->
          lose("the lease has expired, and no DHCP server has answered", now, outputs);
      case REBOOTING -> {
        if (now.isBefore(lease.expiry())) {
          // RFC 2131, 3.2: the client may use the address until the lease ends.
          outputs.add(new Output.Obtained(lease));
          begin(State.REBINDING, renewing, now, lease.expiry());
        } else {
          lose("the stored lease has expired, and no DHCP server has confirmed it", now, outputs);
        }
      }
      case REQUESTING, DISCOVERING -> begin(State.DISCOVERING, asking, now, Instant.MAX);
    }
  }

  /** Begins a state that asks, with a new transaction, so that late answers do not count. */
  private void begin(State next, Backoff pauses, Instant now, Instant deadline) {
    enter(next, now, deadline);
    this.pauses = pauses;
    this.transaction = random.nextInt();
    this.started = now;
    this.nextSend = now;
  }

  private void enter(State next, Instant now, Instant deadline) {
    this.state = next;
    this.since = now;
    this.deadline = deadline;
  }

  private void bind(DhcpLease obtained, Instant now) {
    lease = obtained;
    asking.reset();
    enter(State.BOUND, now, obtained.renewAt());
    nextSend = Instant.MAX;
  }

  private void lose(String reason, Instant now, List<Output> outputs) {
    lease = null;
    outputs.add(new Output.Lost(reason));
    begin(State.DISCOVERING, asking, now, Instant.MAX);
  }

  // ---- messages

  private DhcpMessage question(Instant now) {
    Map<Integer, byte[]> options = new TreeMap<>();
    options.put(DhcpMessage.CLIENT_ID, clientId());
    options.put(DhcpMessage.VENDOR_CLASS, DhcpMessage.text(VENDOR_CLASS));
    options.put(DhcpMessage.PARAMETERS, PARAMETERS);
    options.put(DhcpMessage.LARGEST_MESSAGE, LARGEST_MESSAGE);
    hostName.get().ifPresent(name -> options.put(DhcpMessage.HOST_NAME, DhcpMessage.text(name)));
    switch (state) {
      case DISCOVERING -> options.put(DhcpMessage.RAPID_COMMIT, new byte[0]);
      case REBOOTING -> options.put(DhcpMessage.REQUESTED_ADDRESS, lease.own().getAddress());
      case REQUESTING -> {
        options.put(DhcpMessage.REQUESTED_ADDRESS, offer.own().getAddress());
        options.put(DhcpMessage.SERVER, offer.server().getAddress());
      }
      case BOUND, RENEWING, REBINDING -> {}
    }
    return new DhcpMessage(
        state == State.DISCOVERING ? DhcpMessage.Type.DISCOVER : DhcpMessage.Type.REQUEST,
        false,
        transaction,
        (int) Duration.between(started, now).toSeconds(),
        lease().isEmpty(),
        lease().map(DhcpLease::own).orElse(DhcpMessage.NONE),
        DhcpMessage.NONE,
        hardware,
        options);
  }

  /** Makes the client id of RFC 4361: 255, the number of the interface, a DUID of its hardware. */
  private byte[] clientId() {
    // DUID-LL (3) of Ethernet (1): unlike a stored id it survives a new installation.
    return ByteBuffer.allocate(15)
        .put((byte) 255)
        .put(hardware, 2, Integer.BYTES)
        .putShort((short) 3)
        .putShort((short) 1)
        .put(hardware)
        .array();
  }

  /** Takes an answer, if it belongs to the present question. */
  List<Output> receive(DhcpMessage message, Instant now) {
    if (state == State.BOUND
        || message.transaction() != transaction
        || !Arrays.equals(message.hardware(), hardware)) {
      return List.of();
    }
    return switch (message.type()) {
      case OFFER -> state == State.DISCOVERING ? offered(message, now) : List.of();
      case ACK -> acknowledged(message, now);
      case NAK -> refused(message, now);
      case DISCOVER, REQUEST -> List.of();
    };
  }

  private List<Output> offered(DhcpMessage message, Instant now) {
    try {
      offer = DhcpLease.of(message, now);
    } catch (IllegalArgumentException wrong) {
      return List.of(new Output.Dropped("an offer " + wrong.getMessage()));
    }
    enter(State.REQUESTING, now, now.plus(LONGEST_REQUEST));
    pauses = new Backoff(FIRST_PAUSE, LONGEST_PAUSE, random::nextDouble);
    nextSend = now;
    return tick(now);
  }

  private List<Output> acknowledged(DhcpMessage message, Instant now) {
    boolean rapid = message.options().containsKey(DhcpMessage.RAPID_COMMIT);
    if (state == State.DISCOVERING && !rapid || isOfAnotherServer(message)) {
      return List.of();
    }
    DhcpLease obtained;
    try {
      obtained = DhcpLease.of(message, sent);
    } catch (IllegalArgumentException wrong) {
      return List.of(new Output.Dropped("an acknowledgement " + wrong.getMessage()));
    }
    bind(obtained, now);
    return List.of(new Output.Obtained(obtained));
  }

  private List<Output> refused(DhcpMessage message, Instant now) {
    if (state == State.DISCOVERING || isOfAnotherServer(message)) {
      return List.of();
    }
    List<Output> outputs = new ArrayList<>();
    if (state == State.REQUESTING) {
      begin(State.DISCOVERING, asking, now, Instant.MAX);
    } else {
      lose("a DHCP server refuses the address (DHCPNAK)", now, outputs);
    }
    // A server that offers and refuses in turn gets no more questions than a silent one.
    nextSend = now.plus(asking.next());
    return outputs;
  }

  /** Returns whether the answer to a question for one server comes from another one. */
  private boolean isOfAnotherServer(DhcpMessage message) {
    Optional<Inet4Address> asked =
        switch (state) {
          case REQUESTING -> Optional.of(offer.server());
          case RENEWING -> Optional.of(lease.server());
          case REBOOTING, DISCOVERING, BOUND, REBINDING -> Optional.empty();
        };
    return asked.isPresent() && !message.address(DhcpMessage.SERVER).equals(asked);
  }
}
