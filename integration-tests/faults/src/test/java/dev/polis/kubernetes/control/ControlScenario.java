package dev.polis.kubernetes.control;

import dev.polis.files.FolderPlacement;
import dev.polis.files.layout.Root;
import dev.polis.fixtures.power.PowerScenario;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** Writes each file of a control plane, and replaces two of them, as a rotation does. */
final class ControlScenario implements PowerScenario {

  @Override
  public List<Step> steps() {
    List<Step> steps = new ArrayList<>();
    steps.add(root -> placement(root).create());
    for (ControlFile each : ControlFile.values()) {
      steps.add(root -> write(root, each, "first"));
    }
    steps.add(root -> write(root, ControlFile.SERVICE_ACCOUNT, "second"));
    steps.add(root -> write(root, ControlFile.ENCRYPTION, "second"));
    return List.copyOf(steps);
  }

  private static FolderPlacement placement(Path root) {
    return Root.at(root).data().organFolder(ControlFolder.FOLDER);
  }

  private static void write(Path root, ControlFile file, String content) throws Exception {
    new ControlFolder(placement(root)).write(file, content + " content of " + file);
  }

  @Override
  public String observe(Path root) throws Exception {
    ControlFolder folder = new ControlFolder(placement(root));
    StringBuilder found = new StringBuilder();
    for (ControlFile each : ControlFile.values()) {
      found.append(folder.read(each).orElse("-")).append('\n');
    }
    return found.toString();
  }
}
