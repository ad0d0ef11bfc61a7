package dev.polis.cluster.it;

import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import dev.polis.fixtures.Finished;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Stream;

/**
 * Names everything that one node's worker has made outside of its state directory, so that a test
 * can check its removal beside other nodes.
 *
 * @param device the network device that leads into the sandbox
 * @param cgroup the name of the cgroup of all containers
 * @param addresses the addresses of the loopback device
 */
record WorkerTraces(String device, String cgroup, Set<String> addresses) {

  private static final Path CGROUPS = Path.of("/sys/fs/cgroup");

  /** Reads the notes of a running worker. */
  static WorkerTraces of(TestNode node) throws IOException {
    Path data = node.state().resolve("data");
    JsonObject record =
        JsonParser.parseString(Files.readString(data.resolve("containers/sandbox.json")))
            .getAsJsonObject();
    Set<String> addresses = new TreeSet<>();
    Path claims = data.resolve("kubernetes-address");
    if (Files.isDirectory(claims)) {
      try (Stream<Path> files = Files.list(claims)) {
        for (Path file : files.toList()) {
          addresses.add(Files.readAllLines(file).getFirst());
        }
      }
    }
    if (!record.get("addedAddress").getAsString().isEmpty()) {
      addresses.add(record.get("addedAddress").getAsString());
    }
    return new WorkerTraces(
        record.get("hostDevice").getAsString(), record.get("cgroup").getAsString(), addresses);
  }

  /** Returns the things that still exist. */
  List<String> left() throws Exception {
    List<String> left = new ArrayList<>();
    String links =
        Finished.of(List.of("ip", "-o", "address"), Map.of(), TestNode.PATIENCE).out()
            + Finished.of(List.of("ip", "-o", "link"), Map.of(), TestNode.PATIENCE).out();
    links
        .lines()
        .filter(line -> line.contains(" " + device + "@") || line.contains(" " + device + " "))
        .forEach(left::add);
    links
        .lines()
        .filter(line -> addresses.stream().anyMatch(each -> line.contains(" " + each + "/")))
        .forEach(left::add);
    String rules = FirewallRules.ofHost().nftables();
    addresses.stream()
        .map(address -> "polis_" + address.replace('.', '_'))
        .filter(table -> rules.contains(" " + table + " "))
        .forEach(table -> left.add("table " + table));
    try (Stream<Path> hierarchies = Files.list(CGROUPS)) {
      Stream.concat(Stream.of(CGROUPS), hierarchies)
          .map(hierarchy -> hierarchy.resolve(cgroup))
          .filter(Files::isDirectory)
          .forEach(group -> left.add("cgroup " + group));
    }
    return left;
  }
}
