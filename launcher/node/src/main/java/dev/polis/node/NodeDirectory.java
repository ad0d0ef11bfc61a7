package dev.polis.node;

import dev.polis.files.DirectoryPlacement;
import dev.polis.files.FileTree;
import dev.polis.files.layout.Root;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/**
 * Names the launcher's files in the state directory, and prepares them.
 *
 * @param layout the declared tree at the state directory
 */
record NodeDirectory(Root layout) {

  static NodeDirectory of(Path root) {
    return new NodeDirectory(Root.at(root));
  }

  /** Returns the state directory, absolute. */
  Path root() {
    return layout.path();
  }

  Path lock() {
    return layout.lock().path();
  }

  Path plugins() {
    return layout.plugins().path();
  }

  /** Returns the folder of the notes about jars of the class path that were compared. */
  Path checkedLibraries() {
    return plugins().resolve("libraries");
  }

  Path frameworkCache() {
    return launcher().framework().path();
  }

  Path configuration() {
    return launcher().configuration().path();
  }

  Path home() {
    return launcher().home().path();
  }

  Path restarting() {
    return launcher().restarting().path();
  }

  Path powerOff() {
    return launcher().powerOff().path();
  }

  /**
   * Returns what a node leaves that answers no calls: since when, and the stacks of its threads.
   */
  Path unresponsive() {
    return launcher().unresponsive().path();
  }

  /** Returns the counters of the kernel that the last process found when it started. */
  Path memoryKills() {
    return launcher().memoryKills().path();
  }

  /** Returns the signal that ended the last run, with its time. */
  Path endedBy() {
    return launcher().endedBy().path();
  }

  Path processes() {
    return layout.ephemeral().processes().path();
  }

  /**
   * Returns the crash that ended the last run, kept where it survives a reboot if there is such a
   * place already.
   */
  Path crash() {
    boolean survives = Files.isDirectory(layout.esp().path());
    return (survives ? layout.esp().crash() : launcher().crash()).path();
  }

  /** Returns the place of a crash that a start has shown, until the next one. */
  Path shownCrash() {
    boolean survives = Files.isDirectory(layout.esp().path());
    return (survives ? layout.esp().shownCrash() : launcher().shownCrash()).path();
  }

  /** Returns why the last start was refused. */
  Path refused() {
    return launcher().refused().path();
  }

  Root.Launcher launcher() {
    return layout.ephemeral().launcher();
  }

  /** Makes the launcher's directory and removes what an earlier run left in it. */
  void prepare() throws IOException {
    for (DirectoryPlacement each : List.of(layout.ephemeral(), launcher())) {
      each.create();
      Files.setPosixFilePermissions(each.path(), each.mode().permissions());
    }
    Files.deleteIfExists(home());
    Files.deleteIfExists(powerOff());
    Files.deleteIfExists(refused());
    Files.deleteIfExists(unresponsive());
    Files.deleteIfExists(endedBy());
    Files.deleteIfExists(layout.ephemeral().listeners().path());
    // What was said on an earlier command line does not count any more.
    FileTree.delete(frameworkCache());
    FileTree.delete(configuration());
  }
}
