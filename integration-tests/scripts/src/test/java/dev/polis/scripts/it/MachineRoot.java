package dev.polis.scripts.it;

import dev.polis.fixtures.Finished;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;

/** Holds a folder for the root of a machine, in which the scripts of its init run. */
record MachineRoot(Path folder) {

  private static final String SCRIPTS = "launcher/image/machine/";

  /** Long, since machines that run tests are busy. */
  private static final Duration PATIENCE = Duration.ofSeconds(60);

  /** Makes the folders of a machine that has booted, and copies scripts with paths in them. */
  static MachineRoot in(Path folder, String... scripts) throws IOException {
    MachineRoot root = new MachineRoot(folder);
    for (String each : List.of("dev", "run/polis", "state/ephemeral/launcher", "state/esp")) {
      Files.createDirectories(root.path(each));
    }
    root.copy("words");
    for (String script : scripts) {
      root.copy(script);
    }
    return root;
  }

  private void copy(String script) throws IOException {
    String text = Files.readString(ScriptFolder.REPOSITORY.resolve(SCRIPTS + script));
    // A file, unlike the console, is cut off by each opening that does not append.
    executable(
        "polis/machine/" + script,
        text.replace(">/dev/console", ">>/dev/console")
            .replaceAll("(?<![\\w}])/(?=(run|state|boot|polis|sys|dev/console)\\b)", folder + "/")
            .replace("PATH=", "PATH=%s/usr/bin:".formatted(folder)));
  }

  Path path(String name) {
    return folder.resolve(name);
  }

  void executable(String name, String script) throws IOException {
    new ScriptFolder(folder).executable(name, script);
  }

  Finished run(String script) throws Exception {
    List<String> command = List.of(path("polis/machine/" + script).toString());
    return Finished.of(command, Map.of(), PATIENCE).requireSuccess(script);
  }

  String console() throws IOException {
    Path console = path("dev/console");
    return Files.exists(console) ? Files.readString(console) : "";
  }
}
