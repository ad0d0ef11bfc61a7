package dev.polis.network;

import com.google.protobuf.TextFormat;
import dev.polis.files.layout.Root;
import dev.polis.handover.HandOverTable;
import dev.polis.handover.HandOvers;
import dev.polis.health.HealthTable;
import dev.polis.logtree.LogQuery;
import dev.polis.logtree.LogTree;
import dev.polis.process.ProcessManager;
import dev.polis.supervision.SupervisionTree;
import dev.polis.wire.net.Net;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.net.DatagramPacket;
import java.net.DatagramSocket;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Random;

/** Runs the network organ in the network namespace of this process, which it owns. */
final class DhcpNodeMain {

  /** Leaves the clock of this machine alone. */
  private static final MachineClock.Pace PACE =
      new MachineClock.Pace(
          "",
          MachineClock.Pace.DEFAULT.server(),
          List.of("-x"),
          MachineClock.Pace.DEFAULT.silent(),
          Duration.ofSeconds(1));

  private final LogTree logs = LogTree.create();
  private final SupervisionTree tree = SupervisionTree.open(logs);
  private final HealthTable health = HealthTable.open(tree);
  private final HandOvers handOvers = HandOverTable.open(logs);
  private final Root root;
  private final Path resolver;

  private DhcpNodeMain(Path folder) throws Exception {
    root = Root.at(folder);
    root.esp().create();
    root.ephemeral().create();
    resolver = folder.resolve("resolv.conf");
  }

  /**
   * Answers each command on its input with one line.
   *
   * @param arguments the state directory; or "flood" and the addresses of sender and receivers
   */
  public static void main(String[] arguments) throws Exception {
    if (arguments[0].equals("flood")) {
      flood(arguments[1], arguments[2]);
    } else {
      new DhcpNodeMain(Path.of(arguments[0])).run();
    }
    System.exit(0); // The organ may run; this is the end of its process.
  }

  private void run() throws Exception {
    HandOvers.Membership<NetworkService> organ = next();
    BufferedReader commands =
        new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line = commands.readLine(); line != null; line = commands.readLine()) {
      String[] words = line.split(" ", 2);
      switch (words[0]) {
        case "show", "log" -> {}
        case "swap" -> {
          HandOvers.Membership<NetworkService> former = organ;
          organ = next();
          former.leave();
        }
        case "configure" -> {
          Net.Builder net = Net.newBuilder();
          TextFormat.merge(words[1], net);
          organ.instance().configure(net.build());
        }
        default -> throw new IllegalArgumentException(line);
      }
      System.out.println(
          organ.instance().status().peek().orElseThrow()
              + " "
              + conditions()
              + (words[0].equals("log") ? log() : ""));
    }
  }

  private String conditions() {
    return health.all().peek().orElseThrow().stream()
        .flatMap(status -> status.conditions().stream())
        .map(condition -> condition.code() + "(" + condition.reason() + ")")
        .toList()
        .toString();
  }

  private String log() {
    LogQuery all = LogQuery.of("root").withChildren().backlogAll();
    return logs.newest(all, 100_000).toString().replace('\n', ' ');
  }

  private HandOvers.Membership<NetworkService> next() throws Exception {
    NetworkSettings settings = new NetworkSettings("", true, resolver, "", true, List.of());
    NetworkService.Parts parts =
        new NetworkService.Parts(
            root,
            tree,
            health,
            ProcessManager.open(root.ephemeral().processes().path(), logs),
            logs);
    return handOvers.join(
        "network", predecessor -> new NetworkService(settings, parts, predecessor.take(), PACE));
  }

  /** Sends offers and bytes by chance as fast as the link takes them, until it is killed. */
  private static void flood(String from, String to) throws Exception {
    Random random = new Random();
    try (DatagramSocket socket = new DatagramSocket(new InetSocketAddress(from, 67))) {
      InetSocketAddress all = new InetSocketAddress(to, 68);
      System.out.println("floods");
      while (true) {
        byte[] bytes = new byte[1 + random.nextInt(1400)];
        random.nextBytes(bytes);
        socket.send(new DatagramPacket(bytes, bytes.length, all));
        byte[] offer =
            DhcpAnswers.answer(
                    DhcpMessage.Type.OFFER, random.nextInt(), "192.0.2.66", DhcpAnswers.usable())
                .encoded();
        socket.send(new DatagramPacket(offer, offer.length, all));
      }
    }
  }
}
