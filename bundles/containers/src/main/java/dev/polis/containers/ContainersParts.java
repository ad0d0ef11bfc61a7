package dev.polis.containers;

import dev.polis.api.containers.Sandbox;
import dev.polis.process.ProcessManager;

/**
 * Holds the services that the parts of the runtime use.
 *
 * @param settings the checked configuration
 * @param files the organ's files
 * @param processes runs containerd and the keeper of the sandbox
 * @param logName the journal of containerd's log
 * @param loading limits the archives that the node loads at the same time
 */
record ContainersParts(
    ContainersSettings settings,
    ContainersFiles files,
    ProcessManager processes,
    String logName,
    ImageStore.Loading loading) {

  /** Returns the images of the runtime in a sandbox. */
  static ImageStore images(ContainersParts parts, Sandbox sandbox, RuntimePrograms programs) {
    return new ImageStore(sandbox, programs.program("ctr"), parts.files(), parts.loading());
  }
}
