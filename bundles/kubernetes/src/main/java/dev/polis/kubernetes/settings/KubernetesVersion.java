package dev.polis.kubernetes.settings;

import java.nio.file.Path;

/**
 * Names a release of Kubernetes. Polis supports the same releases as upstream: the newest and the
 * two before it.
 */
public record KubernetesVersion(int major, int minor, int patch) {

  private static final int MAJOR = 1;

  /** The newest release at the time of this version of Polis. */
  private static final int NEWEST = 36;

  private static final int OLDEST = NEWEST - 2;

  /** Refuses a version that is older or newer than the supported ones. */
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
