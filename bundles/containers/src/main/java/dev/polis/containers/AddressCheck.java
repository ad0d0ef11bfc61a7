package dev.polis.containers;

import dev.polis.api.containers.ContainersException;
import dev.polis.api.containers.Isolation;
import dev.polis.api.containers.SandboxRequest;
import java.net.Inet4Address;
import java.net.InetAddress;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** Refuses addresses that the machine already uses. */
final class AddressCheck {

  private static final int BITS = 32;

  private final SystemCommands commands;

  AddressCheck(SystemCommands commands) {
    this.commands = commands;
  }

  /** Is a range of IPv4 addresses. */
  private record Range(int first, int prefix, String text) {

    static Optional<Range> of(String text) {
      int slash = text.indexOf('/');
      try {
        String address = slash < 0 ? text : text.substring(0, slash);
        int prefix = slash < 0 ? BITS : Integer.parseInt(text.substring(slash + 1));
        return InetAddress.ofLiteral(address) instanceof Inet4Address four
            ? Optional.of(new Range(ByteBuffer.wrap(four.getAddress()).getInt(), prefix, text))
            : Optional.empty();
      } catch (IllegalArgumentException notAnAddress) {
        return Optional.empty();
      }
    }

    boolean overlaps(Range other) {
      int common = Math.min(prefix, other.prefix);
      int mask = common == 0 ? 0 : -1 << (BITS - common);
      return (first & mask) == (other.first & mask);
    }
  }

  /**
   * Refuses a request whose addresses conflict with a route of the machine.
   *
   * @throws ContainersException naming the range, the route and the remedy
   */
  void requireFree(SandboxRequest request) throws InterruptedException {
    if (request.isolation() == Isolation.NAMESPACES
        && !(request.address() instanceof Inet4Address
            && request.hostAddress() instanceof Inet4Address)) {
      throw new ContainersException(
          "a sandbox with namespaces supports only IPv4 addresses, not %s; set isolation=machine of dev.polis.kubernetes"
              .formatted(request.address().getHostAddress()));
    }
    String routes = commands.require("list routes", List.of("ip", "-4", "route", "show"));
    requireFree(request, routes.lines().toList());
  }

  static void requireFree(SandboxRequest request, List<String> routes) {
    List<String> wanted = new ArrayList<>(request.ranges());
    if (request.isolation() == Isolation.NAMESPACES) {
      wanted.add(request.address().getHostAddress());
    }
    for (String text : wanted) {
      Range range =
          Range.of(text)
              .orElseThrow(
                  () ->
                      new ContainersException("\"" + text + "\" is not a range of IPv4 addresses"));
      for (String route : routes) {
        clash(range, route, request);
      }
    }
  }

  private static void clash(Range range, String route, SandboxRequest request) {
    String[] words = route.strip().split(" +");
    String device = after("dev", words);
    // A default route matches each address; the routes of earlier sandboxes disappear with their
    // devices.
    boolean own = device.equals(SandboxRecord.hostDevice(request)) || device.equals("cni0");
    boolean other = device.startsWith("polis-");
    Optional<Range> taken = own || other ? Optional.empty() : Range.of(words[0]);
    if (taken.filter(range::overlaps).isPresent()) {
      throw new ContainersException(
          "this machine uses the addresses %s: it has the route \"%s\"; set another pod.range, service.range or link.range of dev.polis.kubernetes"
              .formatted(range.text(), route.strip()));
    }
  }

  private static String after(String key, String[] words) {
    for (int at = 0; at + 1 < words.length; at++) {
      if (words[at].equals(key)) {
        return words[at + 1];
      }
    }
    return "";
  }
}
