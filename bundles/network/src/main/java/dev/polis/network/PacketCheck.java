package dev.polis.network;

import dev.polis.health.HealthCondition;
import dev.polis.process.PortHolder;
import java.io.IOException;
import java.net.InetAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * Measures how many packets of this machine's TCP connections get no answer, by the counters of the
 * kernel. Each of them delays a call by a fifth of a second or more, and no call fails. One thread
 * uses it.
 */
final class PacketCheck {
  private static final String LOST = "packets-lost";

  /** The looks whose sums are judged: half a minute. */
  private static final int LOOKS = 6;

  /**
   * The looks of them that have to find lost packets. A path that is cut loses the packets of a
   * quarter of a minute at most on a network of a node's own, then its connections have ended.
   */
  private static final int LOSSY_LOOKS = 5;

  private static final int WHOLE_PERCENT = 100;

  /**
   * The share that is reported. The connections of this machine to itself, which lose nothing,
   * count too, so the share on the network is some times as large.
   */
  private static final int NAMED_PERCENT = 1;

  /** The fewest lost packets, so that no single connection is reported. */
  private static final long FEWEST = 15;

  private static final int NAMED_PEERS = 3;

  private final Path proc;
  private final Peers peers;
  private final List<Counts> samples = new ArrayList<>();

  /** Counts packets that were sent, each attempt, and those of them without an answer. */
  private record Counts(long sent, long lost) {
    Counts since(Counts earlier) {
      return new Counts(sent - earlier.sent, lost - earlier.lost);
    }
  }

  /** Finds the other machines of connections whose last packet got no answer. */
  @FunctionalInterface
  interface Peers {
    List<InetAddress> unanswering() throws IOException;
  }

  PacketCheck() {
    this(Path.of("/proc"), new PortHolder()::unanswering);
  }

  /**
   * @param proc the folder of the kernel's processes
   */
  PacketCheck(Path proc, Peers peers) {
    this.proc = proc;
    this.peers = peers;
  }

  /** Reports the packets that were lost in the last looks, if most of these found some. */
  Optional<HealthCondition> look() throws IOException {
    Map<String, Long> tcp = counters("snmp", "Tcp:");
    long again = tcp.get("RetransSegs");
    // A machine that is off answers no attempt to connect, and is reported by what misses it.
    long lost = again - counters("netstat", "TcpExt:").get("TCPSynRetrans");
    samples.add(new Counts(tcp.get("OutSegs") + again, lost));
    if (samples.size() > LOOKS + 1) {
      samples.removeFirst();
    }
    Counts all = samples.getLast().since(samples.getFirst());
    long lossy =
        IntStream.range(1, samples.size())
            .filter(look -> samples.get(look).since(samples.get(look - 1)).lost > 0)
            .count();
    boolean much = all.lost >= FEWEST && all.lost * WHOLE_PERCENT >= all.sent * NAMED_PERCENT;
    return lossy >= LOSSY_LOOKS && much ? Optional.of(condition(all)) : Optional.empty();
  }

  private HealthCondition condition(Counts all) throws IOException {
    String to =
        peers.unanswering().stream()
            .limit(NAMED_PEERS)
            .map(InetAddress::getHostAddress)
            .collect(Collectors.joining(", "));
    return HealthCondition.degraded(
        LOST,
        "packets are lost: of %d that this machine sent over TCP in the last half minute, %d got no answer and were sent again%s; calls and leases are late"
            .formatted(all.sent, all.lost, to.isEmpty() ? "" : ", at this moment to " + to),
        "ping -c 20 ADDRESS to the other nodes shows between which machines; then look at cable, port and card (ip -s link), at 'tc qdisc show' and at 'nft list ruleset' on both");
  }

  /** Reads the counters of a pair of lines, of names and of values, that a prefix begins. */
  private Map<String, Long> counters(String file, String prefix) throws IOException {
    List<String[]> lines =
        Files.readAllLines(proc.resolve("net").resolve(file)).stream()
            .map(line -> line.split(" "))
            .filter(words -> words[0].equals(prefix))
            .toList();
    String[] names = lines.getFirst();
    String[] values = lines.getLast();
    return IntStream.range(1, names.length)
        .boxed()
        .collect(Collectors.toMap(at -> names[at], at -> Long.parseLong(values[at])));
  }
}
