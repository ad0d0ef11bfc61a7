package dev.polis.node.places;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.lang.classfile.ClassFile;
import java.lang.classfile.ClassFileVersion;
import java.lang.classfile.ClassHierarchyResolver;
import java.lang.classfile.ClassModel;
import java.lang.classfile.ClassTransform;
import java.lang.classfile.CodeTransform;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.jar.Attributes;
import java.util.jar.JarFile;
import java.util.jar.Manifest;
import java.util.stream.Stream;
import java.util.zip.Deflater;
import java.util.zip.ZipEntry;
import java.util.zip.ZipFile;

/**
 * Rewrites the libraries in a folder so that the AOT cache of a JVM takes their classes; a step of
 * the build. The cache takes none of a signed jar, so signatures are left out, and none of a class
 * file older than Java 6, so such files get a newer version and the stack maps that it wants. A jar
 * that is rewritten once more stays as it is, and so does its time of change.
 */
public final class CacheableJars {
  /** Java 6: the first version that has stack maps. */
  private static final int OLDEST_MAJOR = ClassFile.JAVA_6_VERSION;

  /** Any that the JVM takes would do; with Java 8 stack maps are obligatory. */
  private static final ClassFileVersion RAISED = ClassFileVersion.of(ClassFile.JAVA_8_VERSION, 0);

  private static final String META = "META-INF/";
  private static final List<String> SIGNATURES = List.of(".SF", ".RSA", ".DSA", ".EC");

  private CacheableJars() {}

  /**
   * Rewrites, and prints how many jars were changed.
   *
   * @param folders of jars
   * @throws IOException if a jar can not be read or replaced
   */
  public static void main(String[] folders) throws IOException {
    int changed = 0;
    for (String folder : folders) {
      try (Stream<Path> files = Files.list(Path.of(folder))) {
        for (Path jar : files.filter(file -> file.toString().endsWith(".jar")).toList()) {
          changed += rewrite(jar) ? 1 : 0;
        }
      }
    }
    System.out.println("made " + changed + " libraries ready for an AOT cache");
  }

  /** Rewrites one jar, and returns whether it had to be. */
  public static boolean rewrite(Path jar) throws IOException {
    try (ZipFile from = new ZipFile(jar.toFile())) {
      if (from.stream().noneMatch(entry -> isSignature(entry) || isOld(from, entry))) {
        return false;
      }
      ClassFile classes = classesOf(from);
      // Read once, when a cache is made.
      JarRewriter.replace(
          jar,
          from.stream().filter(entry -> !isSignature(entry)),
          Deflater.BEST_SPEED,
          (entry, to) -> write(from, entry, classes, to));
      return true;
    }
  }

  private static void write(ZipFile from, ZipEntry entry, ClassFile classes, OutputStream to)
      throws IOException {
    if (entry.getName().equals(JarFile.MANIFEST_NAME)) {
      withoutDigests(from, entry).write(to);
    } else {
      byte[] content = content(from, entry);
      to.write(isOld(from, entry) ? raised(classes, content) : content);
    }
  }

  private static boolean isSignature(ZipEntry entry) {
    return entry.getName().startsWith(META)
        && SIGNATURES.stream().anyMatch(entry.getName()::endsWith);
  }

  /** A class of another release of Java lies below META-INF and is not old. */
  private static boolean isOld(ZipFile jar, ZipEntry entry) {
    if (!entry.getName().endsWith(".class") || entry.getName().startsWith(META)) {
      return false;
    }
    try (InputStream content = jar.getInputStream(entry)) {
      // The magic number, the minor version, the major version: four, two and two bytes.
      return ByteBuffer.wrap(content.readNBytes(8)).getShort(6) < OLDEST_MAJOR;
    } catch (IOException e) {
      throw unreadable(jar, entry, e);
    }
  }

  /** Keeps what a manifest says of the whole jar; of its entries it says digests. */
  private static Manifest withoutDigests(ZipFile jar, ZipEntry entry) throws IOException {
    Manifest manifest = new Manifest(jar.getInputStream(entry));
    for (Attributes each : manifest.getEntries().values()) {
      each.keySet().removeIf(name -> name.toString().endsWith("-Digest"));
    }
    manifest.getEntries().values().removeIf(Attributes::isEmpty);
    return manifest;
  }

  /** Types are looked up in the jar itself, then in the JDK: an old library needs no others. */
  private static ClassFile classesOf(ZipFile jar) {
    ClassHierarchyResolver own =
        ClassHierarchyResolver.ofResourceParsing(
            type ->
                Optional.ofNullable(
                        jar.getEntry(
                            type.packageName().replace('.', '/')
                                + "/"
                                + type.displayName()
                                + ".class"))
                    .map(entry -> new ByteArrayInputStream(content(jar, entry)))
                    .orElse(null));
    return ClassFile.of(
        ClassFile.StackMapsOption.GENERATE_STACK_MAPS,
        ClassFile.ClassHierarchyResolverOption.of(
            own.orElse(ClassHierarchyResolver.defaultResolver())));
  }

  private static byte[] raised(ClassFile classes, byte[] old) {
    ClassModel model = classes.parse(old);
    ClassTransform version =
        (builder, element) -> builder.with(element instanceof ClassFileVersion ? RAISED : element);
    // The code is copied too, instruction by instruction: only then are its stack maps made.
    return classes.transformClass(
        model, version.andThen(ClassTransform.transformingMethodBodies(CodeTransform.ACCEPT_ALL)));
  }

  private static byte[] content(ZipFile jar, ZipEntry entry) {
    try {
      return JarRewriter.content(jar, entry);
    } catch (IOException e) {
      throw unreadable(jar, entry, e);
    }
  }

  private static UncheckedIOException unreadable(ZipFile jar, ZipEntry entry, IOException why) {
    return new UncheckedIOException(entry + " of " + jar.getName() + " cannot be read", why);
  }
}
