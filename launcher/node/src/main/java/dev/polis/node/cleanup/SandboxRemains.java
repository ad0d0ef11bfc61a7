package dev.polis.node.cleanup;

import com.google.gson.Gson;
import com.google.gson.JsonObject;
import com.google.gson.JsonParseException;
import com.google.gson.JsonPrimitive;
import dev.polis.process.Cgroup;
import dev.polis.process.Commands;
import dev.polis.process.Nft;
import dev.polis.process.SandboxProcesses;
import java.io.IOException;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.Consumer;
import java.util.stream.Stream;

/**
 * Ends what Kubernetes' worker has left on the machine: containers, their cgroups, the network
 * device, the addresses and their rules. A node that stops in order leaves nothing of this; one
 * that was killed leaves all, since containers outlive it on purpose. What there is stands in the
 * record that the organ {@code containers} writes before it makes anything.
 */
public final class SandboxRemains {

  /** Of the organ that makes the sandbox, in its folder. */
  private static final String RECORD = "containers/sandbox.json";

  /**
   * One file for each role that has put the address inside on the loopback device: the address in
   * its first line, and in its second the folder of the programs, which holds nft.
   */
  private static final String ADDRESSES = "kubernetes-address";

  /** The families of the tables that hide such an address from the machine's neighbours. */
  private static final List<String> FAMILIES = List.of("inet", "arp");

  private static final Path BOOT_ID = Path.of("/proc/sys/kernel/random/boot_id");

  /** A program that is asked to end may take this long; then it is killed. */
  private static final Duration GRACE = Duration.ofSeconds(3);

  /** The kernel may take this long for a killed process, and for an emptied cgroup. */
  private static final Duration PATIENCE = Duration.ofSeconds(20);

  private final Path data;
  private final Consumer<String> progress;
  private final Commands commands = new Commands();

  /**
   * Looks at a node's data.
   *
   * @param data the folder of the data volume
   * @param progress is given a line for each thing that is done
   */
  public SandboxRemains(Path data, Consumer<String> progress) {
    this.data = data;
    this.progress = progress;
  }

  /**
   * Removes everything, as far as it is there.
   *
   * @return a message for each thing that is still there; empty if there is none
   */
  public List<String> remove() throws IOException, InterruptedException {
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
        .formatted(place, e, Cgroup.ROOT);
  }

  private void removeSandbox(JsonObject record, List<String> left)
      throws IOException, InterruptedException {
    if (record == null || !text(record, "bootId").equals(Files.readString(BOOT_ID).strip())) {
      return; // The machine was restarted since: nothing of it is left.
    }
    Cgroup cgroup = new Cgroup(Cgroup.ROOT, text(record, "cgroup"));
    List<String> namespaces =
        Stream.of(text(record, "mountNamespace"), text(record, "networkNamespace"))
            .filter(name -> name.contains(":"))
            .toList();
    endProcesses(() -> processes(cgroup, namespaces), left);
    cgroup
        .remove(PATIENCE, folder -> progress.accept("removing cgroup " + folder))
        .forEach(folder -> left.add("cgroup " + folder));
    removeDevice(text(record, "hostDevice"), left);
    removeAddress(text(record, "addedAddress"), left);
  }

  private static String text(JsonObject record, String name) {
    return record.get(name) instanceof JsonPrimitive value ? value.getAsString() : "";
  }

  private static Set<Long> processes(Cgroup cgroup, List<String> namespaces) throws IOException {
    Set<Long> found = cgroup.processes();
    found.addAll(SandboxProcesses.inside(namespaces, cgroup.name()));
    return found;
  }

  private void endProcesses(SandboxProcesses.Listing processes, List<String> left)
      throws IOException, InterruptedException {
    int found = processes.list().size();
    if (found == 0) {
      return;
    }
    progress.accept("ending %d processes of containers".formatted(found));
    if (!SandboxProcesses.end(processes, GRACE, PATIENCE)) {
      left.add("processes " + processes.list() + " of containers");
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
    Path programs = Path.of(claim.programs());
    if (!commands.has(Nft.command(programs).getFirst())) {
      progress.accept(
          "the rules of %s stay until the machine restarts, because it has no nft; install nftables to remove them"
              .formatted(claim.table()));
      return;
    }
    for (String family : FAMILIES) {
      String table = "table %s %s".formatted(family, claim.table());
      if (commands.run(PATIENCE, Nft.command(programs, "list " + table)).ok()) {
        progress.accept("removing " + table);
        Commands.Result result = commands.run(PATIENCE, Nft.command(programs, "delete " + table));
        if (!result.ok()) {
          left.add(table + ": " + result.words());
        }
      }
    }
  }
}
