package dev.polis.ctl.session;

import dev.polis.files.layout.Root;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.stream.IntStream;

/**
 * Names the folder of a cluster whose nodes all run on this machine. Their state directories are
 * its folders 1, 2, 3 and so on.
 *
 * @param folder which a file marks
 */
public record ClusterBase(Path folder) {

  /** The largest useful number of voters, each of which writes every record. */
  public static final int MOST = 5;

  private static final String MARK = "cluster";

  /** Returns whether a folder is marked as one. */
  public static boolean is(Path folder) {
    return Files.isRegularFile(new ClusterBase(folder).mark());
  }

  /** Returns the cluster on this machine to which a state directory belongs. */
  static Optional<ClusterBase> holding(Path state) {
    return Optional.ofNullable(state.toAbsolutePath().normalize().getParent())
        .filter(ClusterBase::is)
        .map(ClusterBase::new);
  }

  /** Returns the file that marks it, and holds the address of the first node. */
  public Path mark() {
    return folder.resolve(MARK);
  }

  /** Returns the state directory of a node, which may not exist. */
  public Path node(int number) {
    return folder.resolve(Integer.toString(number));
  }

  /** Returns whether the process of a node lives. */
  public boolean runs(int number) {
    return NamedProcess.of(Root.at(node(number)).lock().path()) == NamedProcess.LIVES;
  }

  /** Returns the state directories that exist, the first node's first. */
  public List<Path> nodes() {
    return IntStream.rangeClosed(1, MOST).mapToObj(this::node).filter(Files::isDirectory).toList();
  }
}
