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
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

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
    Map<Path, String> open = new TreeMap<>();
    for (Path top :
        Stream.of(root.esp(), root.owner(), root.data()).map(DirectoryPlacement::path).toList()) {
      Files.walkFileTree(top, Set.of(), DEPTH, new Search(open));
    }
    Map<Path, String> foreign = new TreeMap<>();
    Files.walkFileTree(root.esp().path(), Set.of(), 1, new OfOthers(foreign, user.call()));
    return foreign.isEmpty()
        ? Optional.of(open).filter(each -> !each.isEmpty()).map(ModeCheck::condition)
        : Optional.of(ofOthers(foreign));
  }

  /**
   * Collects the files of other users in {@code esp/}, as after a copy or restore by one. A person
   * may have the owner's files, and programs some of the data.
   */
  private static final class OfOthers extends SimpleFileVisitor<Path> {
    private final Map<Path, String> foreign;
    private final int user;

    OfOthers(Map<Path, String> foreign, int user) {
      this.foreign = foreign;
      this.user = user;
    }

    @Override
    public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) {
      try {
        int owner = (int) Files.getAttribute(file, "unix:uid");
        if (owner != user && owner != ROOT) {
          foreign.put(file, Files.getOwner(file).getName());
        }
      } catch (IOException gone) {
        foreign.remove(file);
      }
      return FileVisitResult.CONTINUE;
    }

    @Override
    public FileVisitResult visitFileFailed(Path file, IOException e) {
      return FileVisitResult.CONTINUE;
    }
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

  /** Collects open secrets; a file that is missing or unreadable is not its fault. */
  private static final class Search extends SimpleFileVisitor<Path> {
    private final Map<Path, String> open;

    Search(Map<Path, String> open) {
      this.open = open;
    }

    @Override
    public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) {
      if (attributes.isRegularFile() && SECRET.matcher(file.getFileName().toString()).matches()) {
        add(file);
      }
      return FileVisitResult.CONTINUE;
    }

    private void add(Path file) {
      try {
        Set<PosixFilePermission> allowed = Files.getPosixFilePermissions(file);
        if (!Mode.SECRET.permissions().containsAll(allowed)) {
          open.put(file, PosixFilePermissions.toString(allowed));
        }
      } catch (IOException gone) {
        open.remove(file);
      }
    }

    @Override
    public FileVisitResult visitFileFailed(Path file, IOException e) {
      return FileVisitResult.CONTINUE;
    }

    @Override
    public FileVisitResult postVisitDirectory(Path folder, IOException e) {
      return FileVisitResult.CONTINUE;
    }
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
