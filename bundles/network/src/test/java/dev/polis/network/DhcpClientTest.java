package dev.polis.network;

import static dev.polis.network.DhcpAnswers.HARDWARE;
import static dev.polis.network.DhcpAnswers.SERVER;
import static dev.polis.network.DhcpAnswers.answer;
import static dev.polis.network.DhcpAnswers.bytes;
import static dev.polis.network.DhcpAnswers.ip;
import static dev.polis.network.DhcpAnswers.seconds;
import static dev.polis.network.DhcpAnswers.usable;
import static dev.polis.network.DhcpAnswers.without;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.network.DhcpClient.Channel;
import dev.polis.network.DhcpClient.Output;
import dev.polis.network.DhcpClient.State;
import dev.polis.network.DhcpMessage.Type;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

class DhcpClientTest {

  private static final Instant START = Instant.EPOCH;
  private static final String ADDRESS = "192.0.2.7";

  private Instant now = START;
  private final Random random = new Random(4361); // any seed; failures repeat
  private DhcpClient client = client(Optional.empty());
  private DhcpMessage question;

  private DhcpClient client(Optional<DhcpLease> stored) {
    return new DhcpClient(HARDWARE, () -> Optional.of("metropolis-1"), random, stored, now);
  }

  private List<Output> at(Duration sinceStart) {
    now = START.plus(sinceStart);
    return client.tick(now);
  }

  @Test
  @DisplayName("the time of a suspended machine counts for a lease")
  void suspension() {
    AtomicLong boot = new AtomicLong(7);
    InstantSource clock = NetworkService.unset(START, boot::get);
    boot.addAndGet(Duration.ofHours(2).toMillis());
    assertEquals(START.plus(Duration.ofHours(2)), clock.instant());
  }

  /** Returns the only message among these decisions. */
  private DhcpMessage sent(List<Output> outputs) {
    question =
        outputs.stream()
            .filter(Output.Send.class::isInstance)
            .map(output -> ((Output.Send) output).message())
            .reduce(
                (_, _) -> {
                  throw new AssertionError("two messages: " + outputs);
                })
            .orElseThrow(() -> new AssertionError("no message: " + outputs));
    return question;
  }

  private List<Output> receive(Type type, String address, Map<Integer, byte[]> options) {
    return client.receive(answer(type, question.transaction(), address, options), now);
  }

  /** Lets the client get a lease of ten seconds at the start. */
  private DhcpLease lease() {
    sent(client.tick(now));
    sent(receive(Type.OFFER, ADDRESS, usable()));
    return obtained(receive(Type.ACK, ADDRESS, usable()));
  }

  private static DhcpLease obtained(List<Output> outputs) {
    return assertInstanceOf(Output.Obtained.class, outputs.getFirst()).lease();
  }

  @Test
  @DisplayName(
      "DHC-01 a DISCOVER has the client id of RFC 4361, the vendor class, the name and the wanted options")
  void discovers() {
    DhcpMessage discover = sent(client.tick(now));

    assertEquals(Type.DISCOVER, discover.type());
    assertTrue(discover.broadcast());
    assertEquals(DhcpMessage.NONE, discover.client());
    assertArrayEquals(HARDWARE, discover.hardware());
    Map<Integer, byte[]> options = discover.options();
    assertEquals("dev.polis.node.v1", text(options, DhcpMessage.VENDOR_CLASS));
    assertEquals("metropolis-1", text(options, DhcpMessage.HOST_NAME));
    assertArrayEquals(
        new byte[] {-1, 0, 0x12, 0x34, 0x56, 0, 3, 0, 1, 0x52, 0x54, 0, 0x12, 0x34, 0x56},
        options.get(DhcpMessage.CLIENT_ID));
    assertArrayEquals(
        new byte[] {1, 3, 6, 15, 26, 42, 51, 54, 58, 59, 121}, options.get(DhcpMessage.PARAMETERS));
    assertInstanceOf(Channel.Broadcast.class, client.channel());
  }

  private static String text(Map<Integer, byte[]> options, int option) {
    return new String(options.get(option), StandardCharsets.US_ASCII);
  }

  @Test
  @DisplayName("DHC-01 a lease needs a server, a lease time and an address")
  void needs() {
    sent(client.tick(now));
    for (Map<Integer, byte[]> options :
        List.of(
            without(DhcpMessage.SERVER),
            without(DhcpMessage.LEASE_TIME),
            usable(DhcpMessage.LEASE_TIME, seconds(0)))) {
      assertInstanceOf(Output.Dropped.class, receive(Type.OFFER, ADDRESS, options).getFirst());
    }
    assertInstanceOf(Output.Dropped.class, receive(Type.OFFER, "0.0.0.0", usable()).getFirst());
    assertEquals(State.DISCOVERING, client.state());
  }

  @Test
  @DisplayName(
      "DHC-02 an offer without a lease time is ignored, the next valid one leads to a REQUEST for its address")
  void requests() {
    sent(client.tick(now));
    receive(Type.OFFER, "192.0.2.66", without(DhcpMessage.LEASE_TIME));
    assertEquals(State.DISCOVERING, client.state());

    DhcpMessage request = sent(receive(Type.OFFER, ADDRESS, usable()));

    assertEquals(State.REQUESTING, client.state());
    assertEquals(Type.REQUEST, request.type());
    assertEquals(Optional.of(ip(ADDRESS)), request.address(DhcpMessage.REQUESTED_ADDRESS));
    assertEquals(Optional.of(ip(SERVER)), request.address(DhcpMessage.SERVER));
    assertEquals(DhcpMessage.NONE, request.client());
  }

  @Test
  @DisplayName("DHC-03 an ACK to the REQUEST gives the lease")
  void bound() {
    DhcpLease lease = lease();

    assertEquals(State.BOUND, client.state());
    assertEquals(IpPrefix.parse("192.0.2.7/24"), lease.address());
    assertEquals(Optional.of(lease), client.lease());
    assertInstanceOf(Channel.Closed.class, client.channel());
  }

  @Test
  @DisplayName(
      "DHC-03 without answers the REQUEST is repeated, and in less than ten tries the client discovers again")
  void requestUnanswered() {
    sent(client.tick(now));
    receive(Type.OFFER, ADDRESS, usable());
    int tries = 1;
    while (true) {
      now = client.wakeup();
      DhcpMessage next = sent(client.tick(now));
      if (next.type() == Type.DISCOVER) {
        break;
      }
      tries++;
    }
    assertTrue(tries > 1 && tries < 10, tries + " tries");
    assertEquals(Duration.ofSeconds(30), Duration.between(START, now));
  }

  @Test
  @DisplayName(
      "DHC-04 rapid commit: an ACK to the DISCOVER gives the lease, which is renewed after half of it")
  void rapidCommit() {
    sent(client.tick(now));
    assertEquals(List.of(), receive(Type.ACK, ADDRESS, usable()), "an ACK without the option");

    DhcpLease lease =
        obtained(receive(Type.ACK, ADDRESS, usable(DhcpMessage.RAPID_COMMIT, new byte[0])));

    assertEquals(State.BOUND, client.state());
    assertEquals(START.plusSeconds(10), lease.expiry());
    assertEquals(START.plusSeconds(5), client.wakeup());
  }

  @Test
  @DisplayName(
      "DHC-05 at T1 the client asks its server alone; an ACK with another option gives the new end and option")
  void renews() {
    lease();
    assertEquals(List.of(), at(Duration.ofMillis(4999)));

    DhcpMessage renewal = sent(at(Duration.ofSeconds(5)));

    assertEquals(State.RENEWING, client.state());
    assertEquals(new Channel.Unicast(ip(ADDRESS), ip(SERVER)), client.channel());
    assertEquals(ip(ADDRESS), renewal.client());
    assertFalse(renewal.broadcast());
    assertFalse(renewal.options().containsKey(DhcpMessage.REQUESTED_ADDRESS));
    assertFalse(renewal.options().containsKey(DhcpMessage.SERVER));
    DhcpLease renewed =
        obtained(receive(Type.ACK, ADDRESS, usable(DhcpMessage.NAME_SERVERS, bytes("192.0.2.53"))));
    assertEquals(State.BOUND, client.state());
    assertEquals(START.plusSeconds(15), renewed.expiry());
    assertEquals(List.of(ip("192.0.2.53")), renewed.nameServers());
  }

  @Test
  @DisplayName(
      "DHC-06 a renewal without an answer leads to REBINDING after exactly 0.85 of the lease, without a change of the lease")
  void rebinds() {
    DhcpLease lease = lease();
    at(Duration.ofSeconds(5));
    while (client.wakeup().isBefore(START.plusMillis(8500))) {
      now = client.wakeup();
      assertEquals(Type.REQUEST, sent(client.tick(now)).type());
      assertEquals(State.RENEWING, client.state());
    }
    assertEquals(START.plusMillis(8500), client.wakeup());

    List<Output> outputs = at(Duration.ofMillis(8500));

    assertEquals(State.REBINDING, client.state());
    assertInstanceOf(Channel.Broadcast.class, client.channel());
    assertEquals(ip(ADDRESS), sent(outputs).client());
    assertEquals(1, outputs.size(), "only a message");
    assertEquals(Optional.of(lease), client.lease());
  }

  @Test
  @DisplayName("DHC-07 any server extends the lease of a client that rebinds")
  void rebound() {
    lease();
    at(Duration.ofSeconds(5));
    sent(at(Duration.ofMillis(8500)));

    DhcpLease other =
        obtained(receive(Type.ACK, ADDRESS, usable(DhcpMessage.SERVER, bytes("192.0.2.2"))));

    assertEquals(State.BOUND, client.state());
    assertEquals(ip("192.0.2.2"), other.server());
    assertEquals(START.plusMillis(18_500), other.expiry());
  }

  @Test
  @DisplayName("DHC-07 a lease that no server extends ends, and the client discovers")
  void expires() {
    lease();
    at(Duration.ofSeconds(5));
    at(Duration.ofMillis(8500));

    List<Output> outputs = at(Duration.ofSeconds(10));

    assertInstanceOf(Output.Lost.class, outputs.getFirst());
    assertEquals(Type.DISCOVER, sent(outputs).type());
    assertEquals(State.DISCOVERING, client.state());
    assertEquals(Optional.empty(), client.lease());
  }

  @Test
  @DisplayName("a NAK takes the address away, and the client discovers after a pause")
  void refused() {
    lease();
    sent(at(Duration.ofSeconds(5)));

    List<Output> outputs = receive(Type.NAK, "0.0.0.0", usable());

    assertEquals(1, outputs.size(), outputs.toString());
    assertInstanceOf(Output.Lost.class, outputs.getFirst());
    assertEquals(State.DISCOVERING, client.state());
    assertTrue(client.wakeup().isAfter(now), "not at once");
    now = client.wakeup();
    assertEquals(Type.DISCOVER, sent(client.tick(now)).type());
  }

  @Test
  @DisplayName(
      "a stored lease: the client asks for its address first, and takes what the server says")
  void reboots() {
    DhcpLease stored = lease();
    for (Type type : List.of(Type.ACK, Type.NAK)) {
      client = client(Optional.of(stored));
      assertEquals(Optional.empty(), client.lease(), "not confirmed");
      DhcpMessage request = sent(client.tick(now));
      assertEquals(Type.REQUEST, request.type());
      assertEquals(Optional.of(ip(ADDRESS)), request.address(DhcpMessage.REQUESTED_ADDRESS));
      assertFalse(request.options().containsKey(DhcpMessage.SERVER));
      assertEquals(DhcpMessage.NONE, request.client());

      List<Output> outputs = receive(type, ADDRESS, usable());

      assertEquals(type == Type.ACK ? State.BOUND : State.DISCOVERING, client.state());
      assertEquals(
          type == Type.ACK ? Output.Obtained.class : Output.Lost.class,
          outputs.getFirst().getClass());
    }
  }

  @Test
  @DisplayName(
      "a stored lease that no server confirms is used until its end; one that has ended is not")
  void rebootsAlone() {
    DhcpLease stored =
        DhcpLease.of(
            answer(Type.ACK, 0, ADDRESS, usable(DhcpMessage.LEASE_TIME, seconds(60))), START);
    client = client(Optional.of(stored));
    client.tick(now);
    List<Output> outputs = at(Duration.ofSeconds(10));
    assertEquals(stored, obtained(outputs));
    assertEquals(State.REBINDING, client.state());
    assertInstanceOf(Output.Lost.class, at(Duration.ofSeconds(60)).getFirst());

    now = START.plusSeconds(60);
    client = client(Optional.of(stored));
    client.tick(now);
    assertInstanceOf(Output.Lost.class, at(Duration.ofSeconds(70)).getFirst());
    assertEquals(State.DISCOVERING, client.state());
  }

  @Test
  @DisplayName("a client that adopts a lease asks nothing before the time of renewal")
  void adopts() {
    DhcpLease stored = lease();
    now = START.plusSeconds(2);
    client = client(Optional.of(stored));
    client.adopt();
    assertEquals(List.of(), client.tick(now));
    assertEquals(State.BOUND, client.state());
    assertEquals(Optional.of(stored), client.lease());
    assertEquals(START.plusSeconds(5), client.wakeup());
  }

  @Test
  @DisplayName("a link with a new carrier is asked at once")
  void hurries() {
    client.tick(now);
    assertTrue(client.wakeup().isAfter(now));
    client.hurry(now);
    assertEquals(Type.DISCOVER, sent(client.tick(now)).type());
  }

  @Test
  @Tag("attack")
  @DisplayName(
      "answers with another transaction, for another card, or from another server change nothing")
  void foreignAnswers() {
    sent(client.tick(now));
    DhcpMessage other = answer(Type.OFFER, question.transaction() + 1, ADDRESS, usable());
    assertEquals(List.of(), client.receive(other, now));
    DhcpMessage offer = answer(Type.OFFER, question.transaction(), ADDRESS, usable());
    DhcpMessage forAnother =
        new DhcpMessage(
            Type.OFFER,
            true,
            offer.transaction(),
            0,
            false,
            offer.client(),
            offer.yours(),
            new byte[6],
            offer.options());
    assertEquals(List.of(), client.receive(forAnother, now));
    assertEquals(State.DISCOVERING, client.state());

    sent(receive(Type.OFFER, ADDRESS, usable()));
    Map<Integer, byte[]> stranger = usable(DhcpMessage.SERVER, bytes("192.0.2.66"));
    for (Type type : List.of(Type.OFFER, Type.ACK, Type.NAK)) {
      assertEquals(List.of(), receive(type, "192.0.2.99", stranger), type.name());
    }
    assertEquals(State.REQUESTING, client.state());

    obtained(receive(Type.ACK, ADDRESS, usable()));
    for (Type type : Type.values()) {
      assertEquals(List.of(), receive(type, "192.0.2.99", usable()), "BOUND: " + type);
    }
    sent(at(Duration.ofSeconds(5)));
    assertEquals(List.of(), receive(Type.NAK, "0.0.0.0", stranger), "RENEWING");
    assertEquals(State.RENEWING, client.state());
  }

  @Test
  @Tag("attack")
  @DisplayName(
      "a server that offers and refuses in turn gets no more questions than a silent one, and none of its transactions lasts")
  void offersAndRefusals() {
    int questions = 0;
    int former = 0;
    for (int i = 0; i < 1000; i++) {
      now = client.wakeup();
      sent(client.tick(now));
      assertNotEquals(former, question.transaction());
      former = question.transaction();
      sent(receive(Type.OFFER, ADDRESS, usable()));
      questions += 2;
      receive(Type.NAK, "0.0.0.0", usable());
      // More answers at the same moment, as fast as the network delivers them.
      for (Type type : Type.values()) {
        assertEquals(List.of(), receive(type, ADDRESS, usable()));
      }
    }
    // The longest pause is 30 s, spread from 15 s to 45 s; two questions belong to each.
    long seconds = Duration.between(START, now).toSeconds();
    assertTrue(questions < seconds / 10, questions + " questions in " + seconds + " s");
  }
}
