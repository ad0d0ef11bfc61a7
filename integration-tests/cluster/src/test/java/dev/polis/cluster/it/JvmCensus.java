package dev.polis.cluster.it;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import dev.polis.fixtures.NodeProcesses;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.TreeMap;

/**
 * Counts the live objects and threads of a node's JVM after a full collection.
 *
 * @param instances the number of objects of each class of ours, without arrays, and of the loaders
 *     of bundles @param threads the number of threads by name without digits, including virtual
 *     ones
 */
record JvmCensus(Map<String, Integer> instances, Map<String, Integer> threads) {

  static final String LOADERS = "org.apache.felix.framework.BundleWiringImpl$BundleClassLoader";

  private static final String OURS = "dev.polis.";

  /** Counts after a full collection of the JVM, so that only reachable objects count. */
  static JvmCensus of(long pid, Path scratch) throws Exception {
    Map<String, Integer> instances = new TreeMap<>();
    Path dump = dump(scratch);
    NodeProcesses.jcmd(pid, "GC.class_histogram", threadsTo(dump))
        .lines()
        .map(line -> line.strip().split("\\s+"))
        .filter(words -> words.length >= 4 && words[1].matches("[0-9]+"))
        .filter(words -> words[3].startsWith(OURS) || words[3].equals(LOADERS))
        .forEach(words -> instances.merge(words[3], Integer.parseInt(words[1]), Integer::sum));
    return new JvmCensus(instances, threads(dump));
  }

  /** Returns a file for the threads of a JVM that does not exist yet. */
  static Path dump(Path scratch) throws IOException {
    return Files.createTempDirectory(scratch, "threads").resolve("dump.json");
  }

  /** Returns the command of {@code jcmd} that writes all threads to this file. */
  static String threadsTo(Path dump) {
    return "Thread.dump_to_file -format=json " + dump;
  }

  /** Counts the threads in a file by name without digits, including virtual ones. */
  static Map<String, Integer> threads(Path dump) throws IOException {
    Map<String, Integer> threads = new TreeMap<>();
    JsonObject all = JsonParser.parseString(Files.readString(dump)).getAsJsonObject();
    for (JsonElement container :
        all.getAsJsonObject("threadDump").getAsJsonArray("threadContainers")) {
      for (JsonElement thread : container.getAsJsonObject().getAsJsonArray("threads")) {
        String name = thread.getAsJsonObject().get("name").getAsString();
        threads.merge(name.replaceAll("[0-9]+", "#"), 1, Integer::sum);
      }
    }
    return threads;
  }

  int loaders() {
    return instances.getOrDefault(LOADERS, 0);
  }

  int allThreads() {
    return threads.values().stream().mapToInt(Integer::intValue).sum();
  }

  /** Returns the components of ours: one object each, unless a dead one is still held. */
  Map<String, Integer> components() {
    Map<String, Integer> components = new TreeMap<>();
    instances.forEach(
        (name, count) -> {
          if (name.matches("dev\\.polis\\.[a-z.]+\\.[A-Za-z0-9]+Component")) {
            components.put(name, count);
          }
        });
    return components;
  }

  /** Returns the counts that have grown, as text. */
  static String more(Map<String, Integer> before, Map<String, Integer> after) {
    StringBuilder text = new StringBuilder();
    after.forEach(
        (name, count) -> {
          int was = before.getOrDefault(name, 0);
          if (count > was) {
            text.append("\n  ").append(name).append(": ").append(was).append(" -> ").append(count);
          }
        });
    return text.toString();
  }
}
