package dev.polis.convergence;

import java.util.Collections;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * Holds the progress of a node towards the wanted plugins.
 *
 * @param known true if the cluster has sent its wanted plugins since this organ started
 * @param wants the wanted plugins, by symbolic name
 * @param whyNot the reason why a wanted plugin does not run yet, by symbolic name
 * @param failed the symbolic names of the plugins that wait for a change
 */
record Progress(
    boolean known,
    SortedMap<String, Want> wants,
    SortedMap<String, String> whyNot,
    Set<String> failed) {
  /** The progress before the first message of the cluster. */
  static final Progress NONE = new Progress(false, new TreeMap<>(), new TreeMap<>(), Set.of());

  Progress {
    wants = Collections.unmodifiableSortedMap(new TreeMap<>(wants));
    whyNot = Collections.unmodifiableSortedMap(new TreeMap<>(whyNot));
    failed = Set.copyOf(failed);
  }
}
