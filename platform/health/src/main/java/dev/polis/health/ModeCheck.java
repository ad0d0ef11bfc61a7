package dev.polis.health;

import dev.polis.base.posix.Machine;
import dev.polis.files.DirectoryPlacement;
import dev.polis.files.Mode;
import dev.polis.files.layout.Root;
import java.io.IOException;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * Notices the keys of a state directory that other accounts may use, as after a restore without
 * modes: those of all organs and of the owner, so that one command closes them.
 */
public final class ModeCheck implements SelfCheck.Look {
  private static final String OPEN = "file-open";

  /** The names of private keys, and of the files from which the data volume's key is made. */
  private static final Pattern SECRET =
      Pattern.compile(
          "(?:.+-)?key(?:-.+)?\\.pem|sealed_configuration\\.pb|recovery_share\\.pb|machine_share");

  /** The depth of {@code data/FOLDER/FOLDER/FILE}; what is deeper belongs to programs. */
  private static final int DEPTH = 3;

  private static final int ROOT = 0;

  private final Root root;
  private final Callable<Integer> user;

  /**
   * Creates a check.
   *
   * @param root the state directory
   */
  public ModeCheck(Root root) {
    this(root, Machine::effectiveUser);
  }

  /**
   * @param user returns the number of the user that the node runs as
   */
  ModeCheck(Root root, Callable<Integer> user) {
    this.root = root;
    this.user = user;
  }

  @Override
  public Optional<HealthCondition> look() throws Exception {
    int self = user.call();
    // A person may have the owner's files, and programs some of the data.
    Map<Path, String> foreign = search(List.of(root.esp()), 1, (file, _) -> otherOwner(file, self));
    if (!foreign.isEmpty()) {
      return Optional.of(ofOthers(foreign));
    }
    Map<Path, String> open =
        search(List.of(root.esp(), root.owner(), root.data()), DEPTH, ModeCheck::openMode);
    return open.isEmpty() ? Optional.empty() : Optional.of(condition(open));
  }

  /** Tells what is wrong with a file; empty if nothing is. */
  private interface Fault {
    Optional<String> of(Path file, BasicFileAttributes attributes) throws IOException;
  }

  /** Names the owner of a file that is neither the node's nor root's, as after a copy by a user. */
  private static Optional<String> otherOwner(Path file, int self) throws IOException {
    int owner = (int) Files.getAttribute(file, "unix:uid");
    return owner == self || owner == ROOT
        ? Optional.empty()
        : Optional.of(Files.getOwner(file).getName());
  }

  /** Returns the mode of a secret that other accounts may use. */
  private static Optional<String> openMode(Path file, BasicFileAttributes attributes)
      throws IOException {
    if (!attributes.isRegularFile() || !SECRET.matcher(file.getFileName().toString()).matches()) {
      return Optional.empty();
    }
    Set<PosixFilePermission> allowed = Files.getPosixFilePermissions(file);
    return Mode.SECRET.permissions().containsAll(allowed)
        ? Optional.empty()
        : Optional.of(PosixFilePermissions.toString(allowed));
  }

  /** Finds the files with a fault; one that is missing or unreadable has none of these. */
  private static Map<Path, String> search(List<DirectoryPlacement> tops, int depth, Fault fault)
      throws IOException {
    Map<Path, String> found = new TreeMap<>();
    for (DirectoryPlacement top : tops) {
      Files.walkFileTree(
          top.path(),
          Set.of(),
          depth,
          new SimpleFileVisitor<>() {
            @Override
            public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) {
              try {
                fault.of(file, attributes).ifPresent(text -> found.put(file, text));
              } catch (IOException gone) {
                found.remove(file);
              }
              return FileVisitResult.CONTINUE;
            }

            @Override
            public FileVisitResult visitFileFailed(Path file, IOException e) {
              return FileVisitResult.CONTINUE;
            }

            @Override
            public FileVisitResult postVisitDirectory(Path folder, IOException e) {
              return FileVisitResult.CONTINUE;
            }
          });
    }
    return found;
  }

  private HealthCondition ofOthers(Map<Path, String> foreign) {
    return HealthCondition.degraded(
            OPEN,
            "files of the node belong to the user %s, who can read its keys, and whose folders the next start refuses: %s"
                .formatted(
                    foreign.values().iterator().next(),
                    foreign.keySet().stream()
                        .map(Path::toString)
                        .collect(Collectors.joining(", "))),
            "chown -R %s %s, while the node is down; the node gives etcd its files again. 'polisctl explain %s' says what to do if that user is a stranger"
                .formatted(System.getProperty("user.name"), root.path(), OPEN))
        .dueTo("storage");
  }

  private static HealthCondition condition(Map<Path, String> open) {
    String files =
        open.entrySet().stream()
            .map(file -> "%s (%s)".formatted(file.getKey(), file.getValue()))
            .collect(Collectors.joining(", "));
    String restored = open.size() > 1 ? ", as after a restore without modes" : "";
    String paths = open.keySet().stream().map(Path::toString).collect(Collectors.joining(" "));
    return HealthCondition.degraded(
            OPEN,
            "only the folders above can keep other accounts from the keys of this node%s: %s"
                .formatted(restored, files),
            "chmod 600 %s; 'namei -l %s' shows whether the folders let other accounts pass, and 'polisctl explain %s' what to do if they did"
                .formatted(paths, open.keySet().iterator().next(), OPEN))
        .dueTo("storage");
  }
}
