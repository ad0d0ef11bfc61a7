package dev.polis.container.it;

import java.io.IOException;
import java.io.OutputStream;
import java.lang.classfile.ClassFile;
import java.lang.classfile.ClassTransform;
import java.lang.classfile.CodeTransform;
import java.lang.classfile.instruction.ReturnInstruction;
import java.lang.constant.ClassDesc;
import java.lang.constant.ConstantDescs;
import java.lang.constant.MethodTypeDesc;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Enumeration;
import java.util.function.BiFunction;
import java.util.function.Consumer;
import java.util.jar.Attributes;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;
import java.util.jar.JarOutputStream;
import java.util.jar.Manifest;
import java.util.zip.Deflater;
import org.osgi.framework.Bundle;
import org.osgi.framework.Constants;
import org.osgi.framework.Version;

/** Makes another version of a bundle: a copy of its jar with another Bundle-Version. */
final class OtherVersion {
  private static final String REFERENCE = "reference:";

  private OtherVersion() {}

  /** Installs the next version of a bundle beside it. */
  static Bundle install(Bundle bundle) throws Exception {
    return install(file(bundle));
  }

  static Bundle install(Path file) throws Exception {
    return Bundles.context().installBundle(REFERENCE + file.toUri());
  }

  /** Makes the file of the next version of a bundle. */
  static Path file(Bundle bundle) throws IOException {
    Version before = bundle.getVersion();
    Version next = new Version(before.getMajor(), before.getMinor(), before.getMicro() + 1);
    return copy(jar(bundle), bundle.getSymbolicName(), next, headers -> {});
  }

  /** Makes the file of a next version that imports a package, which no bundle need export. */
  static Path importing(Bundle bundle, String packageName) throws IOException {
    return copy(
        jar(bundle),
        bundle.getSymbolicName() + "-broken",
        new Version(9, 0, 0),
        headers ->
            headers.putValue(
                Constants.IMPORT_PACKAGE,
                packageName + "," + headers.getValue(Constants.IMPORT_PACKAGE)));
  }

  /** Makes the next version of a bundle, whose component fails at the end of its constructor. */
  static Path failing(Bundle bundle) throws IOException {
    Version before = bundle.getVersion();
    return copy(
        jar(bundle),
        bundle.getSymbolicName(),
        new Version(before.getMajor(), before.getMinor(), before.getMicro() + 1, "failing"),
        headers -> {},
        OtherVersion::failAtTheEnd);
  }

  private static byte[] failAtTheEnd(String entry, byte[] content) {
    if (!entry.endsWith("Component.class")) {
      return content;
    }
    ClassDesc failure = ClassDesc.of(IllegalStateException.class.getName());
    CodeTransform atTheEnd =
        (code, element) -> {
          if (element instanceof ReturnInstruction) {
            code.new_(failure)
                .dup()
                .ldc("made to fail")
                .invokespecial(
                    failure,
                    ConstantDescs.INIT_NAME,
                    MethodTypeDesc.of(ConstantDescs.CD_void, ConstantDescs.CD_String))
                .athrow();
          } else {
            code.with(element);
          }
        };
    return ClassFile.of()
        .transformClass(
            ClassFile.of().parse(content),
            ClassTransform.transformingMethodBodies(
                method -> method.methodName().equalsString(ConstantDescs.INIT_NAME), atTheEnd));
  }

  /** Returns the file from which a bundle was installed, also after updates. */
  static Path jar(Bundle bundle) {
    return Path.of(URI.create(bundle.getLocation().substring(REFERENCE.length())));
  }

  private static Path copy(Path jar, String name, Version version, Consumer<Attributes> headers)
      throws IOException {
    return copy(jar, name, version, headers, (entry, content) -> content);
  }

  private static Path copy(
      Path jar,
      String name,
      Version version,
      Consumer<Attributes> headers,
      BiFunction<String, byte[], byte[]> change)
      throws IOException {
    Path folder = Files.createDirectories(Path.of(System.getProperty("polis.scratch"), "versions"));
    Path copy = folder.resolve(name + "-" + version + ".jar");
    try (JarFile from = new JarFile(jar.toFile())) {
      Manifest manifest = from.getManifest();
      manifest.getMainAttributes().putValue(Constants.BUNDLE_VERSION, version.toString());
      headers.accept(manifest.getMainAttributes());
      try (OutputStream file = Files.newOutputStream(copy);
          JarOutputStream to = new JarOutputStream(file, manifest)) {
        to.setLevel(Deflater.NO_COMPRESSION); // A swap under load needs the cores.
        Enumeration<JarEntry> entries = from.entries();
        while (entries.hasMoreElements()) {
          JarEntry entry = entries.nextElement();
          if (!entry.getName().equals(JarFile.MANIFEST_NAME)) {
            to.putNextEntry(new JarEntry(entry.getName()));
            to.write(change.apply(entry.getName(), from.getInputStream(entry).readAllBytes()));
            to.closeEntry();
          }
        }
      }
    }
    return copy;
  }
}
