package dev.polis.network;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.api.network.NetworkStatus;
import java.io.IOException;
import java.net.BindException;
import java.net.InetAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

class HostAddressesTest {

  private final List<InetAddress> assigned = new ArrayList<>();
  private String refusal = "";
  private boolean loopback = true;

  private final HostAddresses.Machine machine =
      new HostAddresses.Machine() {
        @Override
        public List<InetAddress> addresses() {
          return List.copyOf(assigned);
        }

        @Override
        public boolean loopbackIsUp() {
          return loopback;
        }

        @Override
        public void probe(InetAddress address) throws IOException {
          if (!refusal.isEmpty()) {
            throw new BindException(refusal);
          }
        }
      };

  private static InetAddress ip(String text) {
    return InetAddress.ofLiteral(text);
  }

  private static String reason(NetworkStatus status) {
    return assertInstanceOf(NetworkStatus.Waiting.class, status).reason();
  }

  @Test
  void aConfiguredAddressIsWaitedForByNameAndFoundWhenItComes() {
    HostAddresses addresses = new HostAddresses("192.0.2.7", machine);
    assigned.add(ip("127.0.0.1"));
    assigned.add(ip("::1"));
    assigned.add(ip("fe80::1"));
    String reason = reason(addresses.poll(Optional.empty()));
    assertTrue(reason.contains("192.0.2.7 is not assigned"), reason);
    assertTrue(
        reason.contains("(those have 127.0.0.1, ::1); give it to one (ip addr add 192.0.2.7 "),
        reason);
    assigned.add(ip("192.0.2.7"));
    assertEquals(new NetworkStatus.Up(ip("192.0.2.7")), addresses.poll(Optional.empty()));
    assigned.remove(ip("192.0.2.7"));
    reason(addresses.poll(Optional.empty()));
  }

  @Test
  void everyAddressOfTheLoopbackBlockIsAssigned() {
    assertEquals(
        new NetworkStatus.Up(ip("127.0.3.9")),
        new HostAddresses("127.0.3.9", machine).poll(Optional.empty()));
  }

  @Test
  void withoutConfigurationTheFirstThatOthersCanReachElseLoopback() {
    HostAddresses addresses = new HostAddresses("", machine);
    assertEquals(new NetworkStatus.Up(ip("127.0.0.1")), addresses.poll(Optional.empty()));
    assigned.addAll(List.of(ip("127.0.0.1"), ip("fe80::1"), ip("2001:db8::1"), ip("198.51.100.4")));
    assertEquals(new NetworkStatus.Up(ip("198.51.100.4")), addresses.poll(Optional.empty()));
  }

  @Test
  void anAddressThatCannotBeListenedOnIsNotUp() {
    refusal = "Cannot assign requested address";
    String reason = reason(new HostAddresses("127.0.0.2", machine).poll(Optional.empty()));
    assertTrue(
        reason.contains("the node cannot listen at address 127.0.0.2: Cannot assign"), reason);
  }

  @Test
  @DisplayName("an address stays up while the machine has no local port left")
  void noPortLeft() {
    refusal = "Address already in use";
    assertEquals(
        new NetworkStatus.Up(ip("127.0.0.2")),
        new HostAddresses("127.0.0.2", machine).poll(Optional.empty()));
  }

  @Test
  void whileTheLoopbackIsDownNoAddressIsUp() {
    HostAddresses addresses = new HostAddresses("127.0.0.2", machine);
    loopback = false;
    String reason = reason(addresses.poll(Optional.empty()));
    assertTrue(reason.contains("lo is down") && reason.contains("ip link set lo up"), reason);
    loopback = true;
    assertEquals(new NetworkStatus.Up(ip("127.0.0.2")), addresses.poll(Optional.empty()));
  }

  @Test
  void thisMachineHasLoopback() {
    assertEquals(
        new NetworkStatus.Up(ip("127.0.0.1")),
        new HostAddresses("127.0.0.1", HostAddresses.thisMachine()).poll(Optional.empty()));
  }
}
