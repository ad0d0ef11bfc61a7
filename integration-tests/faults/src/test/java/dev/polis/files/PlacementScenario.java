package dev.polis.files;

import dev.polis.files.layout.Root;
import dev.polis.fixtures.power.PowerScenario;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;

/** Makes directories, and writes, replaces, removes and erases files, each alone. */
final class PlacementScenario implements PowerScenario {

  private static final byte[] SECRET =
      "a secret of which no trace may be left".getBytes(StandardCharsets.UTF_8);

  /**
   * Content of several sectors; a loss of power may keep any of them if the file is overwritten in
   * place.
   */
  private static final String FIRST = "first ".repeat(400);

  @Override
  public List<Step> steps() {
    return List.of(
        root -> at(root).data().node().credentials().create(),
        root -> at(root).esp().create(),
        root -> at(root).esp().volumeFormat().write(bytes(FIRST)),
        root -> at(root).esp().volumeFormat().write(bytes(FIRST.replace("first", "other"))),
        root -> at(root).esp().volumeFormat().delete(),
        root -> at(root).owner().clusterCa().write(bytes("in a directory that was missing")),
        root -> at(root).esp().crash().write(SECRET),
        root -> at(root).esp().crash().erase());
  }

  private static Root at(Path root) {
    return Root.at(root.resolve("of/a/node"));
  }

  private static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  @Override
  public String observe(Path root) throws Exception {
    Root node = at(root);
    return "credentials %s, esp %s, marker %s, ca %s, crash %s"
        .formatted(
            node.data().node().credentials().exists(),
            node.esp().exists(),
            text(node.esp().volumeFormat()),
            text(node.owner().clusterCa()),
            text(node.esp().crash()));
  }

  /** Returns the content, with repeated words only once. */
  private static String text(FilePlacement file) throws FileException {
    return file.exists()
        ? new String(file.read().orThrow(), StandardCharsets.UTF_8).replaceAll("(\\w+ )\\1+", "$1")
        : "none";
  }

  /** Allows the secret or zeros while the file is erased; a start treats both as a crash. */
  @Override
  public boolean underWay(String observed) {
    return observed.contains("\0");
  }

  @Override
  public List<byte[]> erased() {
    return List.of(SECRET);
  }
}
