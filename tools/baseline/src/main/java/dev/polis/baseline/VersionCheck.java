package dev.polis.baseline;

import aQute.bnd.differ.Baseline;
import aQute.bnd.differ.DiffPluginImpl;
import aQute.bnd.osgi.Instructions;
import aQute.bnd.osgi.Processor;
import aQute.bnd.service.diff.Delta;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/** Compares packages with those of the last release. */
final class VersionCheck {
  /** More causes are no help, and a generated class has hundreds. */
  private static final int MOST_CAUSES = 10;

  private VersionCheck() {}

  /**
   * Returns for each package whose version is too low what was found, what is needed, and why;
   * empty if there is none.
   *
   * @throws Exception if bnd cannot compare them
   */
  static List<String> troubles(ApiTree now, ApiTree released) throws Exception {
    List<Baseline.Info> packages;
    try (Processor processor = new Processor()) {
      packages =
          new ArrayList<>(
              new Baseline(processor, new DiffPluginImpl())
                  .baseline(
                      now.tree(),
                      now.exports(),
                      released.tree(),
                      released.exports(),
                      new Instructions()));
    }
    packages.sort(Comparator.comparing(each -> each.packageName));
    List<String> troubles = new ArrayList<>();
    for (Baseline.Info each : packages) {
      if (each.packageDiff.getDelta() == Delta.REMOVED) {
        troubles.add(
            "%s of release %s (%s) is gone: bring it back, or record a release without it"
                .formatted(each.packageName, released.release(), each.olderVersion));
      } else if (each.mismatch) {
        troubles.add(
            "%s has changed since release %s (%s): its version is %s, and needs to be %s%s"
                .formatted(
                    each.packageName,
                    released.release(),
                    each.olderVersion,
                    each.newerVersion,
                    each.suggestedVersion,
                    causes(each.reason)));
      }
    }
    return troubles;
  }

  private static String causes(String reason) {
    List<String> lines = reason.lines().toList();
    String shown =
        lines.stream().limit(MOST_CAUSES).map("\n      "::concat).reduce("", String::concat);
    return lines.size() > MOST_CAUSES
        ? shown + "\n      and %d more".formatted(lines.size() - MOST_CAUSES)
        : shown;
  }
}
