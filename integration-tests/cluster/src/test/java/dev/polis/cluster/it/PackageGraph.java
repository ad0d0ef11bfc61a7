package dev.polis.cluster.it;

import java.lang.classfile.ClassFile;
import java.lang.classfile.ClassModel;
import java.lang.classfile.constantpool.ClassEntry;
import java.lang.classfile.constantpool.PoolEntry;
import java.lang.classfile.constantpool.Utf8Entry;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Collects from class files which package of the project uses which others. */
final class PackageGraph {

  /** Matches a class of the project in a descriptor, a generic signature or an annotation. */
  private static final Pattern IN_DESCRIPTOR = Pattern.compile("L(dev/polis/[\\w/$]+)[;<]");

  private static final String PROJECT = "dev/polis/";

  /** Maps a package to the packages that it uses, each with one example: "class -> class". */
  private final Map<String, Map<String, String>> uses = new TreeMap<>();

  /** Adds the uses of a class. */
  void add(byte[] classFile) {
    ClassModel model = ClassFile.of().parse(classFile);
    String name = model.thisClass().asInternalName();
    for (PoolEntry entry : model.constantPool()) {
      switch (entry) {
        case ClassEntry type -> add(name, type.asInternalName());
        case Utf8Entry text -> {
          Matcher type = IN_DESCRIPTOR.matcher(text.stringValue());
          while (type.find()) {
            add(name, type.group(1));
          }
        }
        default -> {
          // Members and numbers need no case: the pool holds their types, too.
        }
      }
    }
  }

  private void add(String user, String used) {
    String to = packageOf(used);
    if (used.startsWith(PROJECT) && !to.equals(packageOf(user))) {
      uses.computeIfAbsent(packageOf(user), name -> new TreeMap<>())
          .putIfAbsent(to, user + " -> " + used);
    }
  }

  private static String packageOf(String internalName) {
    return internalName.substring(0, Math.max(0, internalName.lastIndexOf('/'))).replace('/', '.');
  }

  /** Returns the number of packages that use another one. */
  int size() {
    return uses.size();
  }

  /** Returns the packages that a package uses, itself among them if there is a cycle. */
  private Set<String> reachable(String from) {
    Set<String> reached = new TreeSet<>();
    Deque<String> open = new ArrayDeque<>(uses.getOrDefault(from, Map.of()).keySet());
    while (!open.isEmpty()) {
      String next = open.pop();
      if (reached.add(next)) {
        open.addAll(uses.getOrDefault(next, Map.of()).keySet());
      }
    }
    return reached;
  }

  /** Returns a line for each use that is part of a cycle; empty if there is no cycle. */
  List<String> cycles() {
    List<String> found = new ArrayList<>();
    uses.forEach(
        (from, targets) ->
            targets.forEach(
                (to, example) -> {
                  if (reachable(to).contains(from)) {
                    found.add("%s and %s use each other: %s".formatted(from, to, example));
                  }
                }));
    return found;
  }

  /** Returns a line for each use of an organ's package by the code of another organ. */
  List<String> organsThatMeet(Set<String> organs) {
    List<String> found = new ArrayList<>();
    uses.forEach(
        (from, targets) ->
            targets.forEach(
                (to, example) -> {
                  String owner = owner(from, organs);
                  String other = owner(to, organs);
                  if (!owner.isEmpty() && !other.isEmpty() && !owner.equals(other)) {
                    found.add("%s uses %s of another organ: %s".formatted(from, to, example));
                  }
                }));
    return found;
  }

  /** Returns the organ that a package belongs to; empty if it belongs to none. */
  private static String owner(String name, Set<String> organs) {
    return organs.stream()
        .filter(organ -> name.equals(organ) || name.startsWith(organ + "."))
        .findFirst()
        .orElse("");
  }
}
