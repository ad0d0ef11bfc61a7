package dev.polis.process;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.Predicate;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * Reads the kernel's tables of TCP sockets in {@code /proc}: the processes at both ends of a port,
 * and the machines that do not answer. Thread-safe.
 */
public final class PortHolder {

  private static final String LISTEN = "0A";
  private static final String ESTABLISHED = "01";
  private static final int LOCAL_ADDRESS = 1;
  private static final int REMOTE = 2;
  private static final int STATE = 3;
  private static final int SENT_AGAIN = 6;
  private static final int INODE = 9;
  private static final int HEXADECIMAL = 16;

  /** Matches a file that a node, or a program of a node, holds open: its lock, or its output. */
  private static final Pattern FILE_OF_NODE =
      Pattern.compile("(?<state>/.+)/(?:node\\.lock|ephemeral/processes/[^/]+)");

  private final Path proc;

  PortHolder(Path proc) {
    this.proc = proc;
  }

  /** Creates a reader of this machine's tables, for this process's network namespace. */
  public PortHolder() {
    this(Path.of("/proc"));
  }

  /**
   * Describes the process that listens at an address. It never throws, since it only helps to
   * explain another failure.
   */
  public String describe(InetSocketAddress address) {
    try {
      return find(address.getAddress(), address.getPort())
          .map(holder -> holder + " has it")
          .orElse(
              "no process in this network namespace listens on it now; it may have been there a"
                  + " moment ago");
    } catch (IOException e) {
      return "the process that has it cannot be found: " + e;
    }
  }

  /**
   * Does the same, and says what to do.
   *
   * @param other how to choose another port
   */
  public String describe(InetSocketAddress address, String other) {
    try {
      return conflict(address.getAddress(), address.getPort(), other)
          .orElseGet(() -> "%s; else %s".formatted(describe(address), other));
    } catch (IOException e) {
      return "%s; end it, or %s".formatted(describe(address), other);
    }
  }

  /**
   * Describes the process that listens on this address or on all addresses, and what to do: a
   * program of this node must not be ended.
   *
   * @param other how to choose another port
   * @return empty if none listens
   * @throws IOException if the kernel's tables cannot be read
   */
  public Optional<String> conflict(InetAddress address, int port, String other) throws IOException {
    List<String> inodes = listeners(address, port);
    if (inodes.isEmpty()) {
      return Optional.empty();
    }
    Optional<Path> process = owner(inodes.getFirst());
    if (process.isEmpty() || !isOfThisNode(process.get())) {
      return Optional.of(
          "%s has it: end it, or %s".formatted(text(process, inodes.getFirst()), other));
    }
    return Optional.of(
        isForgotten(process.get())
            ? "%s of an earlier run of this node has it, of which the node knows nothing, as its files in ephemeral/ were deleted: kill %s, and start the node again"
                .formatted(words(process.get()), process.get().getFileName())
            : "this node itself has it, with its %s: %s".formatted(words(process.get()), other));
  }

  /** Returns whether the files by which a node knows a process again were deleted. */
  private static boolean isForgotten(Path process) {
    return OpenFiles.of(process).stream()
        .anyMatch(file -> FILE_OF_NODE.matcher(file).matches() && file.endsWith(" (deleted)"));
  }

  /**
   * Finds the process that listens on this address or on all addresses.
   *
   * @return the process, such as {@code process 4711 (nginx)}; empty if none listens
   * @throws IOException if the kernel's tables cannot be read
   */
  public Optional<String> find(InetAddress address, int port) throws IOException {
    List<String> inodes = listeners(address, port);
    return inodes.isEmpty()
        ? Optional.empty()
        : Optional.of(text(owner(inodes.getFirst()), inodes.getFirst()));
  }

  /**
   * Finds the process of this machine that has the most connections from an address to a port of
   * this process, also when this side has closed them.
   *
   * @return the process, with their number; empty if no process here has one, or that cannot be
   *     read
   */
  public Optional<String> client(InetAddress source, int port) {
    try {
      Set<String> sockets =
          sockets(columns -> isAt(columns[LOCAL_ADDRESS], source) && isAt(columns[REMOTE], port))
              .stream()
              .map(PortHolder::socket)
              .collect(Collectors.toSet());
      Path most = null;
      long connections = 0;
      for (Path process : Proc.folders(proc)) {
        long its = OpenFiles.of(process).stream().filter(sockets::contains).count();
        if (its > connections) {
          most = process;
          connections = its;
        }
      }
      return most == null
          ? Optional.empty()
          : Optional.of("%s, which has %d open".formatted(words(most), connections));
    } catch (IOException unreadable) {
      return Optional.empty();
    }
  }

  /**
   * Returns whether this process listens on this address or on all addresses.
   *
   * @throws IOException if the kernel's tables cannot be read
   */
  public boolean isHeldBy(InetAddress address, int port, long pid) throws IOException {
    for (String inode : listeners(address, port)) {
      if (OpenFiles.of(proc.resolve(Long.toString(pid))).contains(socket(inode))) {
        return true;
      }
    }
    return false;
  }

  /**
   * Returns the other machines of connections that at this moment await the answer to a packet that
   * was sent again, in the kernel's order.
   *
   * @throws IOException if the kernel's tables cannot be read
   */
  public List<InetAddress> unanswering() throws IOException {
    return rows(
            columns ->
                columns[STATE].equals(ESTABLISHED)
                    && Integer.parseInt(columns[SENT_AGAIN], HEXADECIMAL) > 0)
        .stream()
        .map(columns -> bound(columns[REMOTE]))
        .distinct()
        .toList();
  }

  /** Returns the inodes of the listening sockets. */
  private List<String> listeners(InetAddress address, int port) throws IOException {
    return sockets(
        columns ->
            columns[STATE].equals(LISTEN)
                && isAt(columns[LOCAL_ADDRESS], port)
                && (bound(columns[LOCAL_ADDRESS]).isAnyLocalAddress()
                    || isAt(columns[LOCAL_ADDRESS], address)));
  }

  /** Returns the inodes of the sockets whose columns of the kernel's table match. */
  private List<String> sockets(Predicate<String[]> wanted) throws IOException {
    return rows(wanted).stream().map(columns -> columns[INODE]).toList();
  }

  private List<String[]> rows(Predicate<String[]> wanted) throws IOException {
    List<String[]> rows = new ArrayList<>();
    for (String table : List.of("tcp", "tcp6")) {
      Path file = proc.resolve("net").resolve(table);
      if (!Files.exists(file)) {
        continue;
      }
      for (String line : Files.readAllLines(file)) {
        String[] columns = line.strip().split("\\s+");
        if (columns.length > INODE
            && columns[LOCAL_ADDRESS].indexOf(':') > 0
            && wanted.test(columns)) {
          rows.add(columns);
        }
      }
    }
    return rows;
  }

  private static boolean isAt(String column, int port) {
    return Integer.parseInt(column.substring(column.indexOf(':') + 1), HEXADECIMAL) == port;
  }

  private static boolean isAt(String column, InetAddress address) {
    return bound(column).equals(address);
  }

  /** Parses an address of the kernel's table: 32-bit words in the machine's byte order. */
  private static InetAddress bound(String column) {
    String hex = column.substring(0, column.indexOf(':'));
    ByteBuffer words = ByteBuffer.wrap(HexFormat.of().parseHex(hex)).order(ByteOrder.BIG_ENDIAN);
    ByteBuffer bytes = ByteBuffer.allocate(words.capacity()).order(ByteOrder.nativeOrder());
    while (words.hasRemaining()) {
      bytes.putInt(words.getInt());
    }
    try {
      // A client of an IPv4 address may use an IPv6 socket; this makes an IPv4 address of it.
      return InetAddress.getByAddress(bytes.array());
    } catch (UnknownHostException e) {
      throw new IllegalStateException("the kernel shows an address as " + hex, e);
    }
  }

  private boolean isOfThisNode(Path process) throws IOException {
    Path self = proc.resolve("self").toRealPath();
    Optional<String> state = state(process);
    return process.getFileName().equals(self.getFileName())
        || state.isPresent() && state.equals(state(self));
  }

  private Optional<Path> owner(String inode) throws IOException {
    return OpenFiles.holder(proc, socket(inode));
  }

  private static String socket(String inode) {
    return "socket:[" + inode + "]";
  }

  private static String text(Optional<Path> process, String inode) throws IOException {
    return process.isEmpty()
        ? "a process of another user or network namespace (socket " + inode + ")"
        : words(process.get())
            + state(process.get())
                .map(" of the node in %1$s (ended by './polis down --state %1$s')"::formatted)
                .orElse("");
  }

  /** Returns the state directory of the node whose process, or whose program's, this is. */
  private static Optional<String> state(Path process) {
    return OpenFiles.of(process).stream()
        .map(FILE_OF_NODE::matcher)
        .filter(Matcher::matches)
        .findFirst()
        .map(file -> file.group("state"));
  }

  private static String words(Path process) throws IOException {
    String name = Files.readString(process.resolve("comm"), StandardCharsets.UTF_8).strip();
    return "process %s (%s)".formatted(process.getFileName(), name);
  }
}
