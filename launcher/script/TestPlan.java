import java.io.IOException;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * Reads from the sources which classes of tests belong to a tier, so that a class that no report
 * names is noticed: one that Surefire does not find, whose fork ended, or whose module was left out.
 */
final class TestPlan {

  private static final Pattern TEST =
      Pattern.compile("^ +@(?:Test|ParameterizedTest|RepeatedTest|TestFactory|TestTemplate|ContainerTest)\\b", Pattern.MULTILINE);

  /** A tag at the head of a class has no indentation; a tag of a method has some. */
  private static final Pattern TAG = Pattern.compile("^( *)@Tag\\(\"(\\w+)\"\\)", Pattern.MULTILINE);

  /** The tests of an abstract class are reported under the classes that inherit them. */
  private static final Pattern ABSTRACT = Pattern.compile("^(public )?abstract class ", Pattern.MULTILINE);

  /** The tier of the long forms alone: tests with one of these tags. */
  private static final String LONG = "long";

  private static final Set<String> LONG_FORMS = Set.of("longer", LONG);

  private final Path repository;
  private final String tier;

  /**
   * @param tier quick, full or long
   */
  TestPlan(Path repository, String tier) {
    this.repository = repository;
    this.tier = tier;
  }

  /** Returns a line for each class of the tier that no report names. */
  List<String> missing(TestRun run) throws IOException {
    Set<String> ran = run.cases().stream().map(TestRun.Case::topClass).collect(Collectors.toSet());
    List<String> missing = new ArrayList<>();
    Files.walkFileTree(
        repository,
        new SimpleFileVisitor<>() {
          @Override
          public FileVisitResult preVisitDirectory(Path folder, BasicFileAttributes attributes) {
            String name = String.valueOf(folder.getFileName());
            // The examples are projects of their own, which a test builds.
            boolean other =
                name.equals("target")
                    || name.equals("examples")
                    || name.startsWith(".") && !folder.equals(repository);
            return other ? FileVisitResult.SKIP_SUBTREE : FileVisitResult.CONTINUE;
          }

          @Override
          public FileVisitResult visitFile(Path file, BasicFileAttributes attributes)
              throws IOException {
            String path = file.toString();
            int tests = path.indexOf("/src/test/java/");
            if (tests >= 0 && path.endsWith(".java") && belongs(Files.readString(file))) {
              String name =
                  path.substring(tests + "/src/test/java/".length(), path.length() - ".java".length());
              if (!ran.contains(name.replace('/', '.'))) {
                missing.add("DID NOT RUN, and belongs to this tier: " + name.replace('/', '.'));
              }
            }
            return FileVisitResult.CONTINUE;
          }
        });
    return missing;
  }

  /** Returns whether a source has a test of the tier. */
  private boolean belongs(String source) {
    if (ABSTRACT.matcher(source).find()) {
      return false;
    }
    Matcher tags = TAG.matcher(source);
    if (tier.equals(LONG)) {
      return tags.results().anyMatch(tag -> LONG_FORMS.contains(tag.group(2)));
    }
    Set<String> left = tier.equals("quick") ? Set.of("full", LONG) : Set.of(LONG);
    long tests = TEST.matcher(source).results().count();
    long leftOut = 0;
    while (tags.find()) {
      if (left.contains(tags.group(2))) {
        if (tags.group(1).isEmpty()) {
          return false;
        }
        leftOut++;
      }
    }
    return tests > leftOut;
  }
}
