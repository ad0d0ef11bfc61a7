package dev.polis.cluster.it;

import dev.polis.fixtures.NodeProcesses;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Counts the objects and resources of a node's JVM after a full collection.
 *
 * @param threads including virtual ones @param loaders class loaders of bundles
 * @param wirings wirings of bundles, including those of uninstalled ones that are still reachable
 * @param services registrations in the framework
 * @param mbeans management beans; 0 while the JVM has no server for them
 * @param descriptors open files and sockets
 * @param metaspace bytes used by classes
 * @param heap bytes of reachable objects
 * @param instances objects of each class
 * @param names threads by name, without digits
 */
record NodeCensus(
    int threads,
    int loaders,
    int wirings,
    int services,
    int mbeans,
    int descriptors,
    long metaspace,
    long heap,
    Map<String, Integer> instances,
    Map<String, Integer> names) {

  private static final String WIRING = "org.apache.felix.framework.BundleWiringImpl";
  private static final String SERVICE = "org.apache.felix.framework.ServiceRegistrationImpl";
  private static final String MBEAN = "com.sun.jmx.mbeanserver.NamedObject";

  private static final Pattern LINE =
      Pattern.compile("\\s*[0-9]+:\\s+([0-9]+)\\s+([0-9]+)\\s+(\\S+).*");
  private static final Pattern METASPACE = Pattern.compile("Metaspace\\s+used ([0-9]+)K");

  /** A kibibyte, the unit in which the JVM prints its metaspace. */
  private static final int KIB = 1024;

  /** Counts after a full collection of the JVM, so that only reachable objects count. */
  static NodeCensus of(long pid, Path scratch) throws Exception {
    Map<String, Integer> instances = new TreeMap<>();
    long heap = 0;
    Path dump = JvmCensus.dump(scratch);
    String said =
        NodeProcesses.jcmd(
            pid, "GC.class_histogram", "VM.metaspace basic", JvmCensus.threadsTo(dump));
    for (String text : said.lines().toList()) {
      Matcher line = LINE.matcher(text);
      if (line.matches()) {
        instances.merge(line.group(3), Integer.parseInt(line.group(1)), Integer::sum);
        heap += Long.parseLong(line.group(2));
      }
    }
    Map<String, Integer> names = JvmCensus.threads(dump);
    return new NodeCensus(
        names.values().stream().mapToInt(Integer::intValue).sum(),
        instances.getOrDefault(JvmCensus.LOADERS, 0),
        instances.getOrDefault(WIRING, 0),
        instances.getOrDefault(SERVICE, 0),
        instances.getOrDefault(MBEAN, 0),
        descriptors(pid),
        metaspace(said),
        heap,
        instances,
        names);
  }

  private static long metaspace(String said) {
    Matcher used = METASPACE.matcher(said);
    if (!used.find()) {
      throw new AssertionError("the JVM does not print its metaspace: " + said);
    }
    return Long.parseLong(used.group(1)) * KIB;
  }

  /** Returns the classes that have more objects than in an earlier census, in order of growth. */
  String grown(NodeCensus earlier, int most) {
    return instances.entrySet().stream()
        .map(
            each ->
                Map.entry(
                    each.getKey(),
                    each.getValue() - earlier.instances().getOrDefault(each.getKey(), 0)))
        .filter(each -> each.getValue() > 0)
        .sorted(Map.Entry.<String, Integer>comparingByValue().reversed())
        .limit(most)
        .map(each -> each.getKey() + " +" + each.getValue())
        .collect(Collectors.joining(", "));
  }

  private static int descriptors(long pid) throws Exception {
    try (Stream<Path> open = Files.list(Path.of("/proc", Long.toString(pid), "fd"))) {
      return (int) open.count();
    }
  }

  /** Returns the figures of this census followed by those of another one, as text. */
  String beside(NodeCensus later) {
    return "threads %d -> %d, loaders %d -> %d, wirings %d -> %d, services %d -> %d, MBeans %d -> %d, descriptors %d -> %d, metaspace %,d -> %,d KiB, heap %,d -> %,d KiB"
        .formatted(
            threads,
            later.threads,
            loaders,
            later.loaders,
            wirings,
            later.wirings,
            services,
            later.services,
            mbeans,
            later.mbeans,
            descriptors,
            later.descriptors,
            metaspace / KIB,
            later.metaspace / KIB,
            heap / KIB,
            later.heap / KIB);
  }
}
