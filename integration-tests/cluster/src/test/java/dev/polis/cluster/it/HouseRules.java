package dev.polis.cluster.it;

import java.io.IOException;
import java.lang.classfile.AccessFlags;
import java.lang.classfile.ClassFile;
import java.lang.classfile.ClassModel;
import java.lang.classfile.CodeModel;
import java.lang.classfile.FieldModel;
import java.lang.classfile.instruction.InvokeInstruction;
import java.lang.constant.ClassDesc;
import java.lang.reflect.AccessFlag;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.jar.Attributes;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Checks the rules of this repository that a program can check. Each check returns one line per
 * violation.
 */
final class HouseRules {

  /** Matches a package at the beginning of a clause of Import-Package or Export-Package. */
  private static final Set<String> LOGS =
      Set.of(
          "dev/polis/logtree/Log.log",
          "dev/polis/logtree/Log.info",
          "dev/polis/logtree/Log.warning",
          "dev/polis/logtree/Log.error",
          "dev/polis/logtree/Log.fatal");

  private static final Pattern PACKAGE = Pattern.compile("(?:^|,)\\s*([a-z][\\w]*(?:\\.\\w+)+)");

  private static final Pattern QUOTED = Pattern.compile("\"[^\"]*\"");

  /** Written in two parts, so that this file does not break the rule itself. */
  private static final Pattern LEFT_OPEN = Pattern.compile("\\b(TO" + "DO|FIX" + "ME)\\b");

  private static final Pattern SWITCHED_OFF = Pattern.compile("@Dis" + "abled\\b");
  private static final Pattern SLEEP =
      Pattern.compile("\\b(Thread|TimeUnit\\.\\w+)\\.sl" + "eep\\(");

  /**
   * Words of this project's former private language, with the field's term. They are written in
   * parts, so that this file does not break the rule itself.
   */
  private static final Map<String, String> PRIVATE_WORDS =
      Map.of(
          "boot ?bo" + "ard", "progress",
          "trap" + "door", "fatal error",
          "gu" + "ru", "fatal error report",
          "le" + "(nt|nds|nding)", "system packages, export",
          "in va" + "in", "without an answer, without effect",
          "last wo" + "rds", "last lines",
          "consensus ?gro"
                  + "und|condition ?bo"
                  + "ard|record ?rou"
                  + "nds?|served in rou"
                  + "nds?",
              "batch, table, or what the field calls it");

  /** The only file of tests that may wait by itself. */
  private static final String AWAIT = "dev/polis/fixtures/Await.java";

  private static final Pattern ANY_PRIVATE_WORD = word(String.join("|", PRIVATE_WORDS.keySet()));

  private static final Pattern SILENT_THROW =
      Pattern.compile("throw new [\\w.]*(?:Exception|Error)\\(\\s*\\)");
  private static final Pattern PLACEHOLDER =
      Pattern.compile("throw new Unsupported" + "OperationException\\b");
  private static final Pattern SWALLOWED = Pattern.compile("catch \\([^)]*\\) \\{\\s*\\}");

  /** An essay with purpose, drawing, non-promises and rejected alternatives needs more lines. */
  private static final int SHORTEST_ESSAY = 8;

  private static final ClassDesc OPTIONAL = Optional.class.describeConstable().orElseThrow();

  private HouseRules() {}

  /** Packages that a header of a manifest names; none if there is no such header. */
  static List<String> packages(String header) {
    if (header == null) {
      return List.of();
    }
    Matcher matcher = PACKAGE.matcher(QUOTED.matcher(header).replaceAll(""));
    List<String> packages = new ArrayList<>();
    while (matcher.find()) {
      packages.add(matcher.group(1));
    }
    return packages;
  }

  /** Requires that organs meet as declared services only, and export nothing else. */
  static List<String> organ(String name, Attributes manifest, Collection<String> organs) {
    List<String> broken = new ArrayList<>();
    List<String> imports = packages(manifest.getValue("Import-Package"));
    if (imports.isEmpty()) {
      broken.add(name + " imports nothing: the header was not understood");
    }
    imports.stream()
        .filter(each -> organs.stream().anyMatch(other -> within(each, other)))
        .forEach(each -> broken.add(name + " imports " + each + " of an organ"));
    packages(manifest.getValue("Export-Package"))
        .forEach(each -> broken.add(name + " exports " + each));
    if (manifest.getValue("Service-Component") == null) {
      broken.add(name + " has no Declarative Services component");
    }
    return broken;
  }

  private static boolean within(String imported, String organ) {
    return imported.equals(organ) || imported.startsWith(organ + ".");
  }

  /** Finds private words in code, comments, messages and pages, in any case. */
  static List<String> words(Path file, String text) {
    List<String> broken = new ArrayList<>();
    if (!ANY_PRIVATE_WORD.matcher(text).find()) {
      return broken;
    }
    PRIVATE_WORDS.forEach(
        (word, instead) ->
            require(word(word), "has a private word (say: " + instead + ")", file, text, broken));
    return broken;
  }

  /**
   * Finds open work, disabled tests, sleeps, swallowed exceptions, and exceptions without a
   * message.
   */
  static List<String> source(Path file, String text) {
    List<String> broken = new ArrayList<>();
    require(LEFT_OPEN, "leaves something open", file, text, broken);
    require(PLACEHOLDER, "throws a placeholder", file, text, broken);
    require(SILENT_THROW, "throws without a word", file, text, broken);
    require(SWALLOWED, "swallows an exception", file, text, broken);
    if (isTest(file)) {
      require(SWITCHED_OFF, "switches a test off", file, text, broken);
      require(SLEEP, "sleeps in a test", file, text, broken);
    }
    return broken;
  }

  private static Pattern word(String words) {
    return Pattern.compile("\\b(?:" + words + ")\\b", Pattern.CASE_INSENSITIVE);
  }

  private static boolean isTest(Path file) {
    String path = file.toString();
    return (path.contains("src/test/") || path.contains("integration-tests/"))
        && !path.endsWith(AWAIT);
  }

  private static void require(
      Pattern forbidden, String what, Path file, String text, List<String> broken) {
    Matcher matcher = forbidden.matcher(text);
    while (matcher.find()) {
      long line = 1 + text.chars().limit(matcher.start()).filter(c -> c == '\n').count();
      broken.add("%s %s near line %d: %s".formatted(file, what, line, matcher.group()));
    }
  }

  /** Requires that each package has an essay with a drawing. */
  static List<String> essay(Path folder) throws IOException {
    Path file = folder.resolve("package-info.java");
    if (!Files.exists(file)) {
      return List.of(folder + " has no package-info.java");
    }
    List<String> lines =
        Files.readString(file).lines().filter(line -> line.startsWith(" * ")).toList();
    List<String> broken = new ArrayList<>();
    if (lines.size() < SHORTEST_ESSAY) {
      broken.add("%s has an essay of %d lines".formatted(file, lines.size()));
    }
    if (lines.stream().noneMatch(line -> line.contains("<pre>"))) {
      broken.add(file + " has no drawing");
    }
    return broken;
  }

  /** Finds fields and record components of type Optional, which only methods may return. */
  static List<String> optionals(byte[] classFile) {
    ClassModel model = ClassFile.of().parse(classFile);
    List<String> broken = new ArrayList<>();
    String name = model.thisClass().asInternalName();
    for (FieldModel field : model.fields()) {
      if (written(field.flags()) && field.fieldTypeSymbol().equals(OPTIONAL)) {
        broken.add("%s has the Optional field %s".formatted(name, field.fieldName()));
      }
    }
    return broken;
  }

  /** Finds log calls without an inserted place, which only method references may make. */
  static List<String> walks(byte[] classFile) {
    ClassModel model = ClassFile.of().parse(classFile);
    return model.methods().stream()
        .flatMap(method -> method.code().stream())
        .flatMap(CodeModel::elementStream)
        .filter(element -> element instanceof InvokeInstruction call && LOGS.contains(logged(call)))
        .map(call -> model.thisClass().asInternalName() + " calls " + call)
        .toList();
  }

  private static String logged(InvokeInstruction call) {
    return call.owner().asInternalName() + "." + call.name().stringValue();
  }

  /** Returns whether the source has this member; lambdas and bridges are the compiler's. */
  private static boolean written(AccessFlags flags) {
    return !flags.has(AccessFlag.SYNTHETIC);
  }
}
