package dev.polis.health;

import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;

/**
 * Holds a directory of organs with the given content.
 *
 * @param needs the organs that an organ needs, by its name @param plugins the plugins of the
 *     node @param absent organs that are absent while no scope is open for them
 */
record StubOrgans(Map<String, Set<String>> needs, List<PluginStatus> plugins, Absent... absent)
    implements OrganDirectory {

  StubOrgans(Map<String, Set<String>> needs, Absent... absent) {
    this(needs, List.of(), absent);
  }

  @Override
  public List<Absent> absent(Set<String> present) {
    return Stream.of(absent).filter(each -> !present.contains(each.name())).toList();
  }

  @Override
  public Set<String> needs(String organ) {
    return needs.getOrDefault(organ, Set.of());
  }
}
