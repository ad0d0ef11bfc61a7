package dev.polis.convergence;

import java.util.Collections;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * Says how far a node has come with what the cluster wants of it.
 *
 * @param known whether the cluster has said since this organ started what it wants
 * @param wants what it wants, by symbolic name
 * @param whyNot the reason why a wanted plugin does not run yet, by symbolic name
 * @param failed the symbolic names of those that are not tried again until something changes
 */
record Progress(
    boolean known,
    SortedMap<String, Want> wants,
    SortedMap<String, String> whyNot,
    Set<String> failed) {
  /** Before the cluster has said anything. */
  static final Progress NONE = new Progress(false, new TreeMap<>(), new TreeMap<>(), Set.of());

  Progress {
    wants = Collections.unmodifiableSortedMap(new TreeMap<>(wants));
    whyNot = Collections.unmodifiableSortedMap(new TreeMap<>(whyNot));
    failed = Set.copyOf(failed);
  }
}
