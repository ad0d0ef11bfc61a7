package dev.polis.cluster.it;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.fixtures.LiveTree;
import dev.polis.fixtures.power.ForceSite;
import java.io.IOException;
import java.io.InputStream;
import java.io.RandomAccessFile;
import java.lang.classfile.ClassFile;
import java.lang.classfile.ClassModel;
import java.lang.classfile.CodeElement;
import java.lang.classfile.CodeModel;
import java.lang.classfile.MethodModel;
import java.lang.classfile.instruction.FieldInstruction;
import java.lang.classfile.instruction.InvokeInstruction;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;

/**
 * Finds each method of the shipped code that writes a file and forces nothing to the disk. {@code
 * unforced-writers.txt} says for each why a loss of power may lose its bytes; any other method, and
 * a line without its method, fails the test.
 *
 * <p>Does not find a method that forces only one of its two files: ForceRemovalTest covers this.
 * Does not see writes of child processes.
 */
class HouseRulesForceTest {

  private static final Path REPOSITORY = Path.of(System.getProperty("polis.repository"));

  /** The module whose task is to write and to force as its caller asks. */
  private static final String FILES = "dev/polis/files/";

  private static final Map<String, Set<String>> WRITERS =
      Map.of(
          "java/nio/file/Files",
          Set.of(
              "write",
              "writeString",
              "newOutputStream",
              "newBufferedWriter",
              "newByteChannel",
              "move",
              "copy",
              "createFile",
              "createDirectory",
              "createDirectories",
              "createLink",
              "createSymbolicLink"),
          "java/nio/channels/FileChannel",
          Set.of("write", "truncate", "transferFrom"),
          "java/nio/channels/SeekableByteChannel",
          Set.of("write", "truncate"),
          "java/nio/channels/AsynchronousFileChannel",
          Set.of("write", "truncate"),
          "java/io/RandomAccessFile",
          Set.of("write", "writeByte", "writeBytes", "writeInt", "writeLong", "setLength"),
          "java/io/FileOutputStream",
          Set.of("<init>"),
          "java/io/FileWriter",
          Set.of("<init>"));

  @Test
  void codeThatWritesFilesForcesThemOrSaysWhyNot() throws IOException {
    Set<String> found = new TreeSet<>();
    int classes = 0;
    for (String floor : List.of("platform", "bundles", "launcher")) {
      for (Path file : LiveTree.bottomUp(REPOSITORY.resolve(floor))) {
        if (isShipped(file)) {
          found.addAll(unforced(Files.readAllBytes(file)));
          classes++;
        }
      }
    }
    assertTrue(classes > 500, "only " + classes + " classes were found");
    Set<String> strangers = new TreeSet<>(found);
    Map<String, String> justified = justified();
    strangers.removeAll(justified.keySet());
    assertEquals(
        Set.of(),
        strangers,
        "these write a file and force nothing: use AtomicFile, or say in unforced-writers.txt why a"
            + " loss of power may take it");
    Set<String> stale = new TreeSet<>(justified.keySet());
    stale.removeAll(found);
    assertEquals(Set.of(), stale, "unforced-writers.txt names methods that are no such writers");
  }

  private static boolean isShipped(Path file) {
    String name = file.toString();
    return name.endsWith(".class") && name.contains("/target/classes/dev/polis/");
  }

  private static Map<String, String> justified() throws IOException {
    Map<String, String> reasons = new TreeMap<>();
    try (InputStream in = HouseRulesForceTest.class.getResourceAsStream("unforced-writers.txt")) {
      for (String line : new String(in.readAllBytes(), StandardCharsets.UTF_8).lines().toList()) {
        String[] parts = line.split(": ", 2);
        assertTrue(
            parts.length == 2 && parts[1].length() > 20, "this line gives no reason: " + line);
        reasons.put(parts[0], parts[1]);
      }
    }
    return reasons;
  }

  /** Returns the methods of a class that write and force nothing, as {@code Class.method}. */
  private static Set<String> unforced(byte[] content) {
    ClassModel model = ClassFile.of().parse(content);
    String type = model.thisClass().asInternalName();
    Set<String> found = new TreeSet<>();
    if (type.startsWith(FILES)) {
      return found;
    }
    Set<String> forcing = new TreeSet<>();
    ForceSite.in(model).forEach(site -> forcing.add(site.method()));
    for (MethodModel method : model.methods()) {
      String name = method.methodName().stringValue();
      List<CodeElement> code = method.code().map(CodeModel::elementList).orElse(List.of());
      if (code.stream().anyMatch(HouseRulesForceTest::writes)
          && !forcing.contains(name)
          && code.stream().noneMatch(HouseRulesForceTest::syncs)) {
        found.add(type.substring(type.lastIndexOf('/') + 1) + "." + name);
      }
    }
    return found;
  }

  private static boolean writes(CodeElement element) {
    return switch (element) {
      case InvokeInstruction call ->
          WRITERS
                  .getOrDefault(call.owner().asInternalName(), Set.of())
                  .contains(call.name().stringValue())
              && !isNoFile(call);
      // A replacement without durability.
      case FieldInstruction field ->
          field.name().equalsString("PROCESS")
              && field.owner().asInternalName().equals(FILES + "AtomicFile$Durability");
      default -> false;
    };
  }

  /** Returns whether it writes to standard output, or to a file that is copied elsewhere. */
  private static boolean isNoFile(InvokeInstruction call) {
    String type = call.type().stringValue();
    return type.startsWith("(Ljava/io/FileDescriptor;)")
        || call.name().equalsString("copy") && type.contains("Ljava/io/OutputStream;");
  }

  private static boolean syncs(CodeElement element) {
    return element instanceof InvokeInstruction call
        && call.owner().asInternalName().equals("java/io/FileDescriptor")
        && call.name().equalsString("sync");
  }

  @Test
  void aWriterThatForgetsIsFound() throws IOException {
    List<String> found = new ArrayList<>();
    try (InputStream own =
        HouseRulesForceTest.class.getResourceAsStream("HouseRulesForceTest$Writers.class")) {
      found.addAll(unforced(own.readAllBytes()));
    }
    assertEquals(
        List.of("HouseRulesForceTest$Writers.forgets", "HouseRulesForceTest$Writers.grows"), found);
  }

  /** Never runs: the test applies the finder to it. */
  private static final class Writers {

    static void forgets(Path file) throws IOException {
      Files.writeString(file, "a text");
    }

    static void grows(RandomAccessFile file) throws IOException {
      file.setLength(1);
    }

    static void forces(FileChannel channel) throws IOException {
      channel.truncate(0).force(true);
    }

    static String reads(Path file) throws IOException {
      return Files.readString(file);
    }
  }
}
