package dev.polis.kubernetes.settings;

import java.nio.file.Path;

/**
 * Names a release of Kubernetes. Those are supported that upstream supports: the newest and the two
 * before it.
 */
public record KubernetesVersion(int major, int minor, int patch) {

  private static final int MAJOR = 1;

  /** The newest release when this version of Polis was made. */
  private static final int NEWEST = 36;

  private static final int OLDEST = NEWEST - 2;

  /** Refuses a version that is older or newer than those that are supported. */
  void requireSupported(Path program) {
    if (major != MAJOR || minor < OLDEST || minor > NEWEST) {
      throw new KubernetesProgramException(
          "%s is Kubernetes %s; supported are %d.%d to %d.%d; run \"polis provision kubernetes\", which provides one of them"
              .formatted(program, this, MAJOR, OLDEST, MAJOR, NEWEST));
    }
  }

  @Override
  public String toString() {
    return major + "." + minor + "." + patch;
  }
}
