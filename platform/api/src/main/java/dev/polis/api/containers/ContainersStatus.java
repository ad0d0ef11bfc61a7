package dev.polis.api.containers;

import java.nio.file.Path;

/** Lists the states of the container runtime. */
public sealed interface ContainersStatus {

  /** Returns it as one line for people. */
  String text();

  /** No role has asked for the runtime, or it has stopped. */
  record Stopped() implements ContainersStatus {
    @Override
    public String text() {
      return "the container runtime is stopped";
    }
  }

  /**
   * On its way.
   *
   * @param waitingFor what it waits for, as text
   */
  record Starting(String waitingFor) implements ContainersStatus {
    @Override
    public String text() {
      return "the container runtime waits for " + waitingFor;
    }
  }

  /**
   * It serves.
   *
   * @param sandbox where it works
   * @param socket of the runtime, as seen inside the sandbox: CRI version 1
   * @param version of the runtime, such as {@code containerd 2.4.2}
   */
  record Running(Sandbox sandbox, Path socket, String version) implements ContainersStatus {
    @Override
    public String text() {
      return version + " runs";
    }
  }

  /**
   * The last attempt to start failed. Another one follows by itself, later each time.
   *
   * @param reason what was wrong, with the offending value, and what to do next
   */
  record Failed(String reason) implements ContainersStatus {
    @Override
    public String text() {
      return "the container runtime failed: " + reason;
    }
  }
}
