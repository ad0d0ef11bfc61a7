package dev.polis.node;

import com.google.gson.Gson;
import com.google.gson.JsonObject;
import com.google.gson.JsonParseException;
import com.google.gson.JsonPrimitive;
import dev.polis.posix.KernelFiles;
import dev.polis.process.Commands;
import java.io.IOException;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Consumer;
import java.util.stream.Stream;

/**
 * Ends what Kubernetes' worker has left on the machine: containers, their cgroups, the network
 * device, the addresses and their rules. A node that stops in order leaves nothing of this; one
 * that was killed leaves all, since containers outlive it on purpose. What there is stands in the
 * record that the organ {@code containers} writes before it makes anything.
 */
final class SandboxRemains {

  /** Of the organ that makes the sandbox, in its folder. */
  private static final String RECORD = "containers/sandbox.json";

  /** Lies inside a sandbox, and holds the name of its cgroup. */
  private static final String MARK = "run/polis-sandbox";

  /**
   * One file for each role that has put the address inside on the loopback device: the address in
   * its first line, and in its second the folder of the programs, which holds nft.
   */
  private static final String ADDRESSES = "kubernetes-address";

  /** The families of the tables that hide such an address from the machine's neighbours. */
  private static final List<String> FAMILIES = List.of("inet", "arp");

  private static final Path BOOT_ID = Path.of("/proc/sys/kernel/random/boot_id");
  private static final Path CGROUPS = Path.of("/sys/fs/cgroup");
  private static final Path PROC = Path.of("/proc");

  /** What a program may take to end that is asked to; then it is killed. */
  private static final Duration GRACE = Duration.ofSeconds(3);

  /** What the kernel may take for a killed process, and for an emptied cgroup. */
  private static final Duration PATIENCE = Duration.ofSeconds(20);

  private static final Duration PACE = Duration.ofMillis(20);

  private final Path data;
  private final Consumer<String> progress;
  private final Commands commands = new Commands();

  /**
   * Looks at a node's data.
   *
   * @param data the folder of the data volume
   * @param progress is given a line for each thing that is done
   */
  SandboxRemains(Path data, Consumer<String> progress) {
    this.data = data;
    this.progress = progress;
  }

  /**
   * Removes everything, as far as it is there.
   *
   * @return a message for each thing that is still there; empty if there is none
   */
  List<String> remove() throws IOException, InterruptedException {
    List<String> left = new ArrayList<>();
    Path record = data.resolve(RECORD);
    Optional<String> text = read(record, left);
    try {
      if (text.isPresent()) {
        removeSandbox(new Gson().fromJson(text.get(), JsonObject.class), left);
      }
    } catch (JsonParseException | ClassCastException e) {
      left.add(record + " is damaged, so the remains of the sandbox are unknown");
    }
    for (Claim claim : claims(left)) {
      removeAddress(claim.address(), left);
      removeFilter(claim, left);
    }
    return left;
  }

  /** Reads a file of the data volume, which may be broken while containers live. */
  private static Optional<String> read(Path file, List<String> left) {
    try {
      return Optional.of(Files.readString(file));
    } catch (NoSuchFileException none) {
      return Optional.empty();
    } catch (IOException e) {
      left.add(unread(file, e));
      return Optional.empty();
    }
  }

  private static String unread(Path place, IOException e) {
    return "%s cannot be read (%s), and its entries were not searched: look for processes in cgroups %s/polis-*"
        .formatted(place, e, CGROUPS);
  }

  private void removeSandbox(JsonObject record, List<String> left)
      throws IOException, InterruptedException {
    if (record == null || !text(record, "bootId").equals(Files.readString(BOOT_ID).strip())) {
      return; // The machine was started anew since: nothing of it is left.
    }
    String cgroup = text(record, "cgroup");
    List<String> namespaces =
        Stream.of(text(record, "mountNamespace"), text(record, "networkNamespace"))
            .filter(name -> name.contains(":"))
            .toList();
    if (!endProcesses(cgroup, namespaces)) {
      left.add("processes " + processes(cgroup, namespaces) + " of containers");
    }
    removeCgroups(cgroup, left);
    removeDevice(text(record, "hostDevice"), left);
    removeAddress(text(record, "addedAddress"), left);
  }

  private static String text(JsonObject record, String name) {
    return record.get(name) instanceof JsonPrimitive value ? value.getAsString() : "";
  }

  private boolean endProcesses(String cgroup, List<String> namespaces)
      throws IOException, InterruptedException {
    Set<Long> first = processes(cgroup, namespaces);
    if (first.isEmpty()) {
      return true;
    }
    progress.accept("ending %d processes of containers".formatted(first.size()));
    first.forEach(process -> ProcessHandle.of(process).ifPresent(ProcessHandle::destroy));
    long killing = System.nanoTime() + GRACE.toNanos();
    long end = killing + PATIENCE.toNanos();
    Set<Long> alive = processes(cgroup, namespaces);
    while (!alive.isEmpty() && System.nanoTime() < end) {
      if (System.nanoTime() > killing) {
        alive.forEach(
            process -> ProcessHandle.of(process).ifPresent(ProcessHandle::destroyForcibly));
      }
      Thread.sleep(PACE);
      alive = processes(cgroup, namespaces);
    }
    return alive.isEmpty();
  }

  /**
   * Returns the processes of the cgroup, and those in the sandbox's namespaces. The kernel gives
   * the number of a namespace that has ended to the next one, so the sandbox has a mark.
   */
  private static Set<Long> processes(String cgroup, List<String> namespaces) throws IOException {
    Set<Long> found = new TreeSet<>();
    for (Path top : cgroups(cgroup)) {
      walk(
          top,
          folder ->
              KernelFiles.read(folder.resolve("cgroup.procs")).stream()
                  .flatMap(String::lines)
                  .map(Long::valueOf)
                  .forEach(found::add));
    }
    try (DirectoryStream<Path> all = Files.newDirectoryStream(PROC, "[0-9]*")) {
      for (Path process : all) {
        if (namespaces.stream().anyMatch(namespace -> isIn(process, namespace))
            && isMarked(process, cgroup)) {
          found.add(Long.valueOf(process.getFileName().toString()));
        }
      }
    }
    return found;
  }

  /**
   * Tells whether a process is in a namespace.
   *
   * @param namespace as the kernel names it, such as {@code mnt:[4026531841]}
   */
  private static boolean isIn(Path process, String namespace) {
    String kind = namespace.substring(0, namespace.indexOf(':'));
    try {
      return Files.readSymbolicLink(process.resolve("ns").resolve(kind))
          .toString()
          .equals(namespace);
    } catch (IOException gone) {
      return false;
    }
  }

  /** Tells whether a process sees the mark that the organ {@code containers} leaves inside. */
  private static boolean isMarked(Path process, String cgroup) {
    try {
      return Files.readString(process.resolve("root").resolve(MARK)).equals(cgroup);
    } catch (IOException goneOrNone) {
      return false;
    }
  }

  /** Returns the folders of a cgroup: one, or one in each hierarchy. */
  private static List<Path> cgroups(String name) throws IOException {
    if (name.isEmpty()) {
      return List.of();
    }
    Set<Path> found = new TreeSet<>();
    if (Files.isDirectory(CGROUPS.resolve(name))) {
      found.add(CGROUPS.resolve(name));
    }
    try (DirectoryStream<Path> hierarchies = Files.newDirectoryStream(CGROUPS)) {
      for (Path hierarchy : hierarchies) {
        if (Files.isDirectory(hierarchy.resolve(name))) {
          found.add(hierarchy.toRealPath().resolve(name));
        }
      }
    }
    return List.copyOf(found);
  }

  private void removeCgroups(String name, List<String> left)
      throws IOException, InterruptedException {
    long end = System.nanoTime() + PATIENCE.toNanos();
    for (Path top : cgroups(name)) {
      progress.accept("removing cgroup " + top);
      while (!removed(top) && System.nanoTime() < end) {
        Thread.sleep(PACE);
      }
      if (Files.exists(top)) {
        left.add("cgroup " + top);
      }
    }
  }

  /** Tries once; the kernel empties a cgroup some milliseconds after its last process has ended. */
  private static boolean removed(Path top) {
    try {
      walk(top, Files::deleteIfExists);
      return true;
    } catch (IOException busy) {
      return !Files.exists(top);
    }
  }

  private void removeDevice(String device, List<String> left)
      throws IOException, InterruptedException {
    if (device.isEmpty() || !isThere(device)) {
      return;
    }
    progress.accept("removing network device " + device);
    // It goes by itself with the last process inside, at a time of the kernel's choice.
    Commands.Result result = commands.run(PATIENCE, List.of("ip", "link", "delete", "dev", device));
    if (!result.ok() && isThere(device)) {
      left.add("network device " + device + ": " + result.words());
    }
  }

  private boolean isThere(String device) throws IOException, InterruptedException {
    return commands.run(PATIENCE, List.of("ip", "link", "show", "dev", device)).ok();
  }

  /**
   * A role's note that it uses an address.
   *
   * @param programs the folder with Kubernetes' programs; empty in the note of an early build
   */
  private record Claim(String address, String programs) {
    String table() {
      return "polis_" + address.replace('.', '_');
    }

    /** Returns how nft is called where it is unpacked beside its libraries. */
    Optional<List<String>> nft() {
      Path tools = Path.of(programs, "root", "usr");
      Path unpacked = tools.resolve("sbin/nft");
      return Files.isExecutable(unpacked)
          ? Optional.of(
              List.of(
                  "env",
                  "LD_LIBRARY_PATH=" + tools.resolve("lib/x86_64-linux-gnu"),
                  unpacked.toString()))
          : Optional.empty();
    }
  }

  private Set<Claim> claims(List<String> left) {
    Set<Claim> found = new LinkedHashSet<>();
    Path folder = data.resolve(ADDRESSES);
    try (DirectoryStream<Path> files = Files.newDirectoryStream(folder)) {
      for (Path file : files) {
        List<String> lines = read(file, left).stream().flatMap(String::lines).toList();
        if (!lines.isEmpty()) {
          found.add(new Claim(lines.getFirst(), lines.size() > 1 ? lines.get(1) : ""));
        }
      }
    } catch (NoSuchFileException none) {
      return found;
    } catch (IOException e) {
      left.add(unread(folder, e));
    } catch (DirectoryIteratorException e) {
      left.add(unread(folder, e.getCause()));
    }
    return found;
  }

  private void removeAddress(String address, List<String> left)
      throws IOException, InterruptedException {
    if (address.isEmpty()) {
      return;
    }
    String prefix = address + "/32";
    List<String> show = List.of("ip", "-o", "address", "show", "dev", "lo", "to", prefix);
    if (commands.run(PATIENCE, show).output().isEmpty()) {
      return;
    }
    progress.accept("removing address " + address);
    Commands.Result result =
        commands.run(PATIENCE, List.of("ip", "address", "delete", prefix, "dev", "lo"));
    if (!result.ok()) {
      left.add("address " + address + ": " + result.words());
    }
  }

  private void removeFilter(Claim claim, List<String> left)
      throws IOException, InterruptedException {
    Optional<List<String>> nft =
        claim.nft().or(() -> commands.has("nft") ? Optional.of(List.of("nft")) : Optional.empty());
    if (nft.isEmpty()) {
      progress.accept(
          "the rules of %s stay until the machine is started anew: there is no nft"
              .formatted(claim.table()));
      return;
    }
    for (String family : FAMILIES) {
      List<String> table = List.of("table", family, claim.table());
      if (commands.run(PATIENCE, joined(nft.get(), "list", table)).ok()) {
        progress.accept("removing " + String.join(" ", table));
        Commands.Result result = commands.run(PATIENCE, joined(nft.get(), "delete", table));
        if (!result.ok()) {
          left.add(String.join(" ", table) + ": " + result.words());
        }
      }
    }
  }

  private static List<String> joined(List<String> nft, String verb, List<String> table) {
    return Stream.of(nft, List.of(verb), table).flatMap(List::stream).toList();
  }

  /** What is done to a folder after all that are in it. */
  @FunctionalInterface
  private interface FolderAction {
    void act(Path folder) throws IOException;
  }

  /** Visits folders alone: the files of a cgroup are the kernel's, and go with their folder. */
  private static void walk(Path top, FolderAction action) throws IOException {
    Files.walkFileTree(
        top,
        new SimpleFileVisitor<>() {
          @Override
          public FileVisitResult visitFileFailed(Path file, IOException failure)
              throws IOException {
            if (failure instanceof NoSuchFileException) {
              return FileVisitResult.CONTINUE;
            }
            throw failure;
          }

          @Override
          public FileVisitResult postVisitDirectory(Path folder, IOException failure)
              throws IOException {
            action.act(folder);
            return FileVisitResult.CONTINUE;
          }

          @Override
          public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) {
            return FileVisitResult.CONTINUE;
          }
        });
  }
}
