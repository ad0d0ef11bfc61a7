package dev.polis.faults.it;

import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.InvalidProtocolBufferException;
import dev.polis.wire.api.RebootRequest;
import dev.polis.wire.plugins.StopRequest;
import io.grpc.ManagedChannel;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.random.RandomGenerator;
import java.util.stream.Collectors;

/**
 * Makes senseless calls, one after the other, over connections of its own: one for each listener
 * and kind of caller. Not safe for several threads.
 */
final class FuzzCaller {

  /** One call in so many goes to a listener that does not serve it. */
  private static final int STRAY = 50;

  private static final int CLOSE_SECONDS = 60;

  private final Map<FuzzMethod, Integer> ports;
  private final FuzzDeck deck;
  private final FuzzMessages messages;
  private final RandomGenerator random;
  private final Map<Integer, Map<FuzzCredential, ManagedChannel>> channels = new HashMap<>();
  private final List<ManagedChannel> all;

  /**
   * Opens the connections.
   *
   * @param ports the port that serves each method
   */
  FuzzCaller(FaultNode node, Map<FuzzMethod, Integer> ports, RandomGenerator random) {
    this.ports = ports;
    this.random = random;
    List<FuzzMethod> methods = ports.keySet().stream().sorted(FuzzMethod.BY_NAME).toList();
    this.deck = new FuzzDeck(methods, servedIn(FuzzCredential.PLAINTEXT), random);
    this.messages =
        new FuzzMessages(random, methods, List.of(node.id(), node.address()), node.keys());
    for (int port : Set.copyOf(ports.values())) {
      Map<FuzzCredential, ManagedChannel> ofPort = new EnumMap<>(FuzzCredential.class);
      FuzzCredential.of(port).forEach(each -> ofPort.put(each, each.dial(node, port)));
      channels.put(port, ofPort);
    }
    this.all = channels.values().stream().flatMap(port -> port.values().stream()).toList();
  }

  private Set<FuzzMethod> servedIn(FuzzCredential credential) {
    return ports.entrySet().stream()
        .filter(served -> FuzzCredential.of(served.getValue()).contains(credential))
        .map(Map.Entry::getKey)
        .collect(Collectors.toSet());
  }

  /** Makes the given number of calls. */
  void make(FuzzCalls calls, int count) throws InterruptedException {
    for (int made = 0; made < count; made++) {
      FuzzCell cell = deck.next();
      boolean stray = random.nextInt(STRAY) == 0;
      ManagedChannel channel =
          stray
              ? all.get(random.nextInt(all.size()))
              : channels.get(ports.get(cell.method())).get(cell.credential());
      // A stray call may use the owner's connection.
      boolean asOwner = stray || cell.credential() == FuzzCredential.OWNER;
      calls.call(channel, cell, content(cell, asOwner), stray, random);
    }
  }

  /** Returns the content of a call; makes it anew while it would rightly end the node. */
  private List<byte[]> content(FuzzCell cell, boolean asOwner) {
    List<byte[]> content;
    do {
      content = messages.make(cell.content(), cell.method().request());
    } while (asOwner && endsTheTest(cell.method(), content));
    return content;
  }

  private static boolean endsTheTest(FuzzMethod method, List<byte[]> content) {
    return switch (method.name()) {
      case "metropolis.proto.api.NodeManagement/Reboot" ->
          content.stream().anyMatch(FuzzCaller::reboots);
      case "polis.node.plugins.Plugins/Stop" -> content.stream().anyMatch(FuzzCaller::stops);
      default -> false;
    };
  }

  private static boolean reboots(byte[] message) {
    try {
      return RebootRequest.parseFrom(message).getType() != RebootRequest.Type.TYPE_INVALID;
    } catch (InvalidProtocolBufferException unreadable) {
      return false;
    }
  }

  private static boolean stops(byte[] message) {
    try {
      return StopRequest.parseFrom(message).getSymbolicName().contains("polis");
    } catch (InvalidProtocolBufferException unreadable) {
      return false;
    }
  }

  /** Ends all connections, and so the node's resources for them. */
  void disconnect() throws InterruptedException {
    for (ManagedChannel channel : all) {
      channel.shutdownNow();
      assertTrue(channel.awaitTermination(CLOSE_SECONDS, TimeUnit.SECONDS), "a channel stays");
    }
  }
}
