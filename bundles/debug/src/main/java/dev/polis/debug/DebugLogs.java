package dev.polis.debug;

import dev.polis.logtree.Dn;
import dev.polis.logtree.LogEntry;
import dev.polis.logtree.LogFormat;
import dev.polis.logtree.LogQuery;
import dev.polis.logtree.LogTree;
import dev.polis.rpc.RpcException;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Returns the last lines of a component, by a person's path: {@code consensus}, {@code kube,
 * apiserver}. A component is known if it, or a part of it, has a log on this node; an unknown one
 * is an error, and not an empty result.
 */
final class DebugLogs {
  /** The names of other systems for organs, which clients use as the first part of a path. */
  private static final Map<String, String> ALIASES =
      Map.of("kube", "root.kubernetes", "containerd", "root.containers.containerd");

  private static final String KUBE = "kube";

  /** The beginning of the DNS server's name, which clients call {@code kube/dns}. */
  private static final String CORE = "core";

  /** The prefix of roles, which run Kubernetes' programs. */
  private static final String ROLES = "root.roles.";

  /**
   * The size in bytes of one answer, which is one message: some thousand lines. All answers
   * together take at most a tenth of the heap. An answer omits older lines beyond this size.
   */
  static final int MAX_BYTES = 512 << 10;

  private final LogTree logs;

  DebugLogs(LogTree logs) {
    this.logs = logs;
  }

  /**
   * Returns the lines, oldest first.
   *
   * @param path the parts of its name
   * @param tail the most lines, the newest; 0 for all
   * @throws RpcException INVALID_ARGUMENT if the path is malformed, NOT_FOUND if it names no
   *     component
   */
  List<String> lines(List<String> path, long tail) {
    String dn = find(path);
    long most = tail == 0 ? Long.MAX_VALUE : tail;
    LogQuery query = LogQuery.of(dn).withChildren().backlog((int) Math.min(most, LogQuery.ALL));
    // An entry may have several lines, so the newest entries hold at least the newest lines; and an
    // entry takes no less memory than its lines, so the lines omitted here would not fit either.
    return newest(logs.newest(query, MAX_BYTES), most);
  }

  private static List<String> newest(List<LogEntry> entries, long most) {
    Deque<String> kept = new ArrayDeque<>();
    long bytes = 0;
    for (LogEntry entry : entries.reversed()) {
      for (String line : LogFormat.full(entry).lines().toList().reversed()) {
        // At most three bytes of UTF-8 for a char, and a few around each line.
        bytes += 3L * line.length() + Long.BYTES;
        if (kept.size() >= most || bytes > MAX_BYTES) {
          return List.copyOf(kept);
        }
        kept.addFirst(line);
      }
    }
    return List.copyOf(kept);
  }

  private String find(List<String> path) {
    if (path.isEmpty()) {
      throw RpcException.invalid("component_path has no parts; give at least one");
    }
    for (String part : path) {
      if (part.isEmpty() || part.contains(".")) {
        throw RpcException.invalid(
            "component_path %s has the part \"%s\"; a part is not empty and has no dots"
                .formatted(path, part));
      }
    }
    if (path.equals(List.of(KUBE))) {
      throw RpcException.notFound(
          "kube has several components; name one, such as kube/apiserver or kube/kubelet");
    }
    return candidates(path)
        .filter(this::hasLog)
        .findFirst()
        .orElseThrow(() -> unknown(String.join("/", path)));
  }

  private Stream<String> candidates(List<String> path) {
    String rest = path.stream().skip(1).map(part -> "." + part).collect(Collectors.joining());
    Optional<String> alias = Optional.ofNullable(ALIASES.get(path.getFirst()));
    String plain = String.join(".", path);
    return Stream.concat(
        Stream.concat(alias.map(root -> root + rest).stream(), kubernetes(path)),
        Stream.of("root." + plain, plain));
  }

  /** Returns the logs of a Kubernetes program, which are below its role. */
  private Stream<String> kubernetes(List<String> path) {
    if (!path.getFirst().equals(KUBE)) {
      return Stream.of();
    }
    String program = path.get(1);
    List<String> names = List.of(KUBE + "-" + program, program, CORE + program);
    String rest = path.stream().skip(2).map(part -> "." + part).collect(Collectors.joining());
    return logs.names().stream()
        .filter(name -> name.startsWith(ROLES))
        .flatMap(name -> upTo(name, names).stream())
        .distinct()
        .sorted()
        .map(name -> name + rest);
  }

  /** Cuts a name after the first part that is in this set; empty if none is. */
  private static Optional<String> upTo(String name, List<String> parts) {
    String[] all = name.split("\\.");
    for (int i = 0; i < all.length; i++) {
      if (parts.contains(all[i])) {
        return Optional.of(String.join(".", List.of(all).subList(0, i + 1)));
      }
    }
    return Optional.empty();
  }

  private boolean hasLog(String dn) {
    return logs.names().stream().anyMatch(name -> Dn.isWithin(name, dn));
  }

  private RpcException unknown(String path) {
    String known =
        logs.names().stream()
            .map(name -> name.startsWith("root.") ? name.substring("root.".length()) : name)
            .map(name -> name.replaceFirst("\\..*", ""))
            .filter(name -> !name.isEmpty() && !name.equals("root"))
            .distinct()
            .sorted()
            .collect(Collectors.joining(", "));
    return RpcException.notFound(
        "component %s has no log on this node: it is unknown or never ran here; these have one: %s"
            .formatted(path, known.isEmpty() ? "none yet" : known));
  }
}
