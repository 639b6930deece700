import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import org.apache.kafka.common.utils.Exit;

/**
 * Runs Apache Kafka's command-line tools one after the other in one JVM, which saves a start each. A command is a line on
 * standard input: the class and its arguments, separated by tabs. The answer is a line `EXIT-CODE SIZE` and then so many
 * bytes: what the tool printed.
 */
public final class Tools {
    private static final class Ended extends Error {
        Ended() {
            super("the tool has ended", null, false, false);
        }
    }

    /** The code with which the tool first asked to exit: some catch what we throw, and then ask again. */
    private static Integer exit;

    public static void main(String[] unused) throws Exception {
        Exit.Procedure end = (code, message) -> {
            if (exit == null) exit = code;
            throw new Ended();
        };
        Exit.setExitProcedure(end);
        Exit.setHaltProcedure(end);
        PrintStream answers = System.out;
        BufferedReader commands = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = commands.readLine(); line != null; line = commands.readLine()) {
            String[] words = line.split("\t", -1);
            ByteArrayOutputStream printed = new ByteArrayOutputStream();
            PrintStream output = new PrintStream(printed, true, StandardCharsets.UTF_8);
            System.setOut(output);
            System.setErr(output);
            int code = run(words[0], Arrays.copyOfRange(words, 1, words.length));
            output.flush();
            answers.println(code + " " + printed.size());
            answers.write(printed.toByteArray());
            answers.flush();
        }
    }

    private static int run(String tool, String[] arguments) {
        exit = null;
        try {
            Class.forName(tool).getMethod("main", String[].class).invoke(null, (Object) arguments);
            return exit == null ? 0 : exit;
        } catch (java.lang.reflect.InvocationTargetException thrown) {
            if (exit != null) return exit;
            thrown.getCause().printStackTrace();
            return 1;
        } catch (ReflectiveOperationException absent) {
            absent.printStackTrace();
            return 1;
        }
    }
}
