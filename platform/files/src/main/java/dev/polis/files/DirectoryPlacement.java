package dev.polis.files;

import dev.polis.files.FileException.Problem;
import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.PosixFilePermission;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.osgi.annotation.versioning.ProviderType;

/**
 * Declares a directory. Subclasses declare their children with {@link #file} and {@link #directory}
 * while they are constructed; a second declaration of a name, or an invalid file name, fails at
 * once. Thread-safe once constructed.
 */
@ProviderType
public class DirectoryPlacement {

  private final Path path;
  private final Mode mode;
  private final Set<String> names = new HashSet<>();

  /** The folders that organs declare in this directory, by name. Guarded by itself. */
  private final Map<String, Mode> folders = new HashMap<>();

  /** Declares the top of a tree. */
  protected DirectoryPlacement(Path path, Mode mode) {
    this.path = path.toAbsolutePath().normalize();
    this.mode = mode;
  }

  /** Declares a directory inside another. */
  protected DirectoryPlacement(DirectoryPlacement parent, String name, Mode mode) {
    this(parent.claim(name), mode);
  }

  /** Declares a file of this directory. */
  protected final FilePlacement file(String name, Mode mode) {
    return new FilePlacement(claim(name), mode);
  }

  /** Declares a subdirectory whose content its user declares. */
  protected final DirectoryPlacement directory(String name, Mode mode) {
    return new DirectoryPlacement(this, name, mode);
  }

  /**
   * Places a folder that its owner declares. A second declaration of the same folder is allowed,
   * since the successor of an organ does so.
   *
   * @throws IllegalArgumentException if the name is taken by this layout, or by a folder of another
   *     mode
   */
  protected final FolderPlacement folder(OrganFolder declared) {
    synchronized (folders) {
      Mode before = folders.get(declared.name());
      if (before == null) {
        claim(declared.name());
        folders.put(declared.name(), declared.mode());
      } else if (before != declared.mode()) {
        throw new IllegalArgumentException(
            "folder \"%s\" in %s is declared as %s and as %s; give one of the two another name"
                .formatted(declared.name(), path, before, declared.mode()));
      }
    }
    return new FolderPlacement(path.resolve(declared.name()), declared.mode());
  }

  /** Returns the absolute path. */
  public final Path path() {
    return path;
  }

  /** Returns the access mode. */
  public final Mode mode() {
    return mode;
  }

  /** Returns whether the directory exists. */
  public final boolean exists() throws FileException {
    return exists(path);
  }

  static boolean exists(Path path) throws FileException {
    try {
      Files.readAttributes(path, BasicFileAttributes.class, LinkOption.NOFOLLOW_LINKS);
      return true;
    } catch (NoSuchFileException absent) {
      return false;
    } catch (IOException e) {
      throw DiskTrouble.failed("look for", path, 0, e);
    }
  }

  /**
   * Makes the directory and its missing parents. An existing directory loses the permissions that
   * the declared mode lacks, but keeps those of {@link #letOthersPass}. After the return, the new
   * directories survive a loss of power.
   */
  public final Path create() throws FileException {
    try {
      AtomicFile.makeDirectory(path, mode, AtomicFile.Durability.POWER_LOSS);
      AtomicFile.tighten(path, mode);
      return path;
    } catch (IOException e) {
      throw DiskTrouble.failed("make directory", path, 0, e);
    }
  }

  /**
   * Lets other accounts of the machine pass through this directory to known names in it. They
   * cannot list it, and its content keeps its own modes.
   */
  public final void letOthersPass() throws FileException {
    try {
      Set<PosixFilePermission> permissions = EnumSet.copyOf(Files.getPosixFilePermissions(path));
      if (permissions.add(PosixFilePermission.OTHERS_EXECUTE)) {
        Files.setPosixFilePermissions(path, permissions);
      }
    } catch (IOException e) {
      throw DiskTrouble.failed("let other accounts pass through", path, 0, e);
    }
  }

  /**
   * Returns whether the directory with its content belongs to an account of the machine.
   *
   * @param account its number
   */
  public final boolean isOf(int account) throws FileException {
    try {
      return Ownership.isTreeOf(path, account);
    } catch (IOException e) {
      throw DiskTrouble.failed("look at the owner of", path, 0, e);
    }
  }

  /**
   * Gives the directory with its content to an account of the machine. Only root can do that. No
   * program should make files there meanwhile.
   *
   * @param account its number, which is also the number of its group
   */
  public final void giveTo(int account) throws FileException {
    try {
      Ownership.giveTree(path, account);
    } catch (IOException e) {
      throw DiskTrouble.failed("change the owner of", path, 0, e);
    }
  }

  /**
   * Returns the names of all entries, declared or not, in order; empty if the directory does not
   * exist.
   */
  public final List<String> list() throws FileException {
    if (!exists()) {
      return List.of();
    }
    List<String> found = new ArrayList<>();
    try (DirectoryStream<Path> entries = Files.newDirectoryStream(path)) {
      entries.forEach(entry -> found.add(entry.getFileName().toString()));
    } catch (IOException | java.nio.file.DirectoryIteratorException e) {
      throw DiskTrouble.failed("list", path, 0, e);
    }
    found.sort(null);
    return List.copyOf(found);
  }

  /**
   * Removes the temporary files of interrupted {@link FilePlacement#write} calls from this
   * directory. Only its owner calls it, before the first write there.
   *
   * @return the number of removed files
   */
  public final int removeTemporaryFiles() throws FileException {
    if (!exists()) {
      return 0;
    }
    try {
      return AtomicFile.sweep(path, Duration.ZERO);
    } catch (IOException e) {
      throw DiskTrouble.failed("remove temporary files in", path, 0, e);
    }
  }

  private Path claim(String name) {
    if (name.isEmpty()
        || name.equals(".")
        || name.equals("..")
        || name.indexOf('/') >= 0
        || name.indexOf('\0') >= 0) {
      throw new IllegalArgumentException(
          "\"" + name + "\" in " + path + " is not a file name; declare one directory per level");
    }
    if (!names.add(name)) {
      throw new IllegalArgumentException(
          "\"" + name + "\" is declared twice in " + path + "; give one of the two another name");
    }
    return path.resolve(name);
  }

  /**
   * Returns the refusal for a directory that must be empty, with up to three names of its entries.
   */
  public final FileException occupied(String purpose, String remedy) throws FileException {
    List<String> found = list();
    String shown = String.join(", ", found.subList(0, Math.min(3, found.size())));
    return new FileException(
        Problem.OCCUPIED,
        "%s is not empty (%d entries: %s%s), so it is not used for %s"
            .formatted(path, found.size(), shown, found.size() > 3 ? ", …" : "", purpose),
        remedy);
  }

  @Override
  public final String toString() {
    return path.toString();
  }
}
